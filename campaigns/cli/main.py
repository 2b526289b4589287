"""The command `drumbeat`: finds the module of a command, and turns every end into a line and an exit code.

Exit codes: 0 done, 1 unexpected, 2 usage, 3 done, but not for everybody, 69 service or database not reached,
75 try later, 77 authentication, 78 configuration, 129, 130 and 143 stopped by a signal after a clean end,
141 nobody reads its output any more.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import traceback
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from campaigns.cli.lazy import Group, import_without, lazy_group
from campaigns.cli.streams import STDOUT, forsake_stdout, secure_streams, unwritten
from engine.core.sanitise import shown
from engine.errors import ConfigurationError, DrumbeatError
from engine.process.memory import COLLECTION_OBJECTS

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Handle

EXIT_UNEXPECTED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_NOT_READ = 128 + signal.SIGPIPE  # as a shell reports a tool whose reader has gone
HELP = "--help"
NO_TEXT = "surrogates not allowed"  # what Python, orjson and the database's driver say of such bytes
DEBUG_VARIABLE = "DRUMBEAT_DEBUG"

# Every command by the module it stands in: a command that runs imports nothing of the others.
CAMPAIGN_COMMANDS = {
    "create": "campaigns.cli.create",
    "list": "campaigns.cli.status",
    "status": "campaigns.cli.status",
    "run": "campaigns.cli.run",
    "start": "campaigns.cli.states",
    "pause": "campaigns.cli.states",
    "resume": "campaigns.cli.states",
    "cancel": "campaigns.cli.states",
    "report": "campaigns.cli.report",
    "export": "campaigns.cli.report",
    "settle": "campaigns.cli.settle",
}
COMMANDS: dict[str, str | Group] = {
    "demo": "campaigns.cli.demo",
    "bench": "campaigns.cli.bench",
    "doctor": "campaigns.cli.doctor",
    "db": "campaigns.cli.db",
    "numbers": "campaigns.cli.numbers",
    "templates": "campaigns.cli.templates",
    "audience": "campaigns.cli.audience",
    "suppress": "campaigns.cli.suppress",
    "campaign": Group("Plan campaigns, send them, and see what became of them.", CAMPAIGN_COMMANDS),
    "worker": "campaigns.cli.worker",
    "webhooks": "campaigns.cli.webhooks",
    "emulator": "campaigns.cli.emulator",
}

EPILOG = (
    "Settings come from these options, else from variables (DRUMBEAT_HOME, DRUMBEAT_BASE_URL and so on), else"
    " from drumbeat.toml in the working directory.\n\n"
    "Exit codes: 0 done, 1 unexpected, 2 usage, 3 done, but not for everybody, 69 service or database do not"
    " answer, 75 try later, 77 token refused, 78 configuration, 129, 130 and 143 stopped, 141 not read."
)
app = typer.Typer(
    name="drumbeat",
    cls=lazy_group(COMMANDS),
    help="Sends campaigns at the permitted pace: nobody twice, nobody forgotten.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _tell_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # a hundredth of a second for whoever does not ask

        typer.echo(f"drumbeat {version('drumbeat')}")
        raise typer.Exit


@app.callback()
def settings(
    context: typer.Context,
    home: Annotated[
        Path | None,
        typer.Option(
            help="Where data is kept; default: /var/lib/drumbeat for root, else the user's data directory.",
            metavar="DIRECTORY",
        ),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of the service.", metavar="URL")] = None,
    api_version: Annotated[str | None, typer.Option(help="Version of its interface.", metavar="vN.N")] = None,
    waba_id: Annotated[str | None, typer.Option(help="Id of the business account.", metavar="ID")] = None,
    product: Annotated[
        str | None, typer.Option(help="The product's word in the service's identifiers.")
    ] = None,
    version: Annotated[  # noqa: ARG001 - done as it is read
        bool,
        typer.Option("--version", help="Print the version, and end.", callback=_tell_version, is_eager=True),
    ] = False,
) -> None:
    """Read the settings once, so that a wrong one is reported before anything starts."""
    import_log()
    os.environ.setdefault(
        "PYDANTIC_DISABLE_PLUGINS", "__all__"
    )  # its look for them reads all that is installed
    from campaigns.cli.edge import prepare  # the settings know the database: a quarter of a second

    try:
        prepare(home=home, base_url=base_url, api_version=api_version, waba_id=waba_id, product=product)
    except ConfigurationError:
        if HELP not in context.obj:  # a person who asks how to set something has not set it yet
            raise


def import_log() -> None:
    """Import structlog before our modules do, without rich: nobody here draws tracebacks in colour."""
    import_without("rich", "structlog")  # a tenth of the time in which a run starts


class Terminated(SystemExit):
    """SIGTERM, or SIGHUP as a terminal closes: ends a command as Ctrl-C does, through every `finally`; loops
    let a SystemExit pass.
    """


_ending: list[Handle] = []  # of a loop that was told to end
_asked: list[int] = []  # the exit codes of the signals that came


def run() -> None:
    """Entry point of the console script."""
    gc.set_threshold(COLLECTION_OBJECTS)  # what imports make stays: the looks took 8 % of their time
    secure_streams()
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command line; returns its exit code. Never raises."""
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # as under nohup
        signal.signal(signal.SIGHUP, _terminate)
    exit_code = _run(arguments)
    if (problem := unwritten()) is not None:
        exit_code = _not_written(problem, exit_code)
    elif exit_code == EXIT_NOT_READ:
        forsake_stdout()
    return exit_code


def _not_written(problem: OSError, exit_code: int) -> int:
    """The exit code of a command whose result is lost: what it did otherwise is told first."""
    forsake_stdout()
    if isinstance(problem, BrokenPipeError):
        return EXIT_NOT_READ
    told = _tell(f"stdout cannot be written: {problem.strerror}", ConfigurationError.exit_code)
    return exit_code or told


def _is_read() -> bool:
    """Whether somebody still reads what a command says; `head` leaves when it has seen enough."""
    output = select.poll()
    output.register(STDOUT, 0)
    return not any(event & select.POLLERR for _, event in output.poll(0))


def _run(arguments: Sequence[str]) -> int:
    try:
        return int(
            app(args=list(arguments), prog_name="drumbeat", standalone_mode=False, obj=list(arguments)) or 0
        )
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except Terminated as end:
        return int(str(end))
    except SystemExit as end:  # of the library, whose word for a closed pipe, whichever it is, is a bare 1
        return _tell_closed(end.__context__) if _is_read() else EXIT_NOT_READ
    except typer.Abort:
        return _tell("nothing was done", EXIT_UNEXPECTED)
    except typer.TyperException as error:
        return _tell_usage(error)
    except DrumbeatError as error:
        return _tell(str(error), error.exit_code)
    except Exception as error:
        if isinstance(error, OSError) and unwritten() is not None:
            return 0  # the fault of stdout alone, which is told in the end
        if NO_TEXT in str(error) and (wrong := _not_utf_8(arguments)):
            return _tell(wrong, EXIT_USAGE)
        return _tell_unexpected(error)


def _terminate(number: int, _: object) -> None:
    """In a loop between two of its steps: raised inside one, it leaves a driver half done, ready to crash."""
    _asked.append(128 + number)
    loop, asked_before = _running_loop(), [*_ending]
    for ending in asked_before:
        ending.cancel()
    if loop is None or asked_before:
        raise Terminated(128 + number)
    _ending.append(loop.call_soon_threadsafe(_raise, Terminated(128 + number)))


def _running_loop() -> AbstractEventLoop | None:
    if "asyncio" not in sys.modules:  # then there is none
        return None
    with suppress(RuntimeError, ImportError):  # the module may be half imported
        from asyncio import get_running_loop

        return get_running_loop()
    return None


def _raise(end: Terminated) -> None:
    raise end


def _tell(line: str, exit_code: int) -> int:
    typer.echo(f"drumbeat: {shown(' '.join(line.split()))}", err=True)
    return exit_code


def _tell_usage(error: typer.TyperException) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return EXIT_USAGE  # making the error has shown the help
    advice = f" Try `{context.command_path} --help`." if context is not None else ""
    said = error.format_message().replace("Value error, ", "").rstrip(".")  # the library's word for any value
    return _tell(f"{said}{'' if said.endswith('?') else '.'}{advice}", EXIT_USAGE)


def _not_utf_8(arguments: Sequence[str]) -> str:
    """Names the first argument that is no text; a path may be such, whatever else it is for must not."""
    for place, argument in enumerate(arguments, 1):
        if any("\udc80" <= character <= "\udcff" for character in argument):  # how Python tells such bytes
            return (
                f'argument {place} is not UTF-8: "{os.fsencode(argument).decode(errors="backslashreplace")}"'
            )
    return ""


def _tell_closed(problem: BaseException | None) -> int:
    return _tell_unexpected(problem) if isinstance(problem, OSError) else EXIT_UNEXPECTED


def _tell_unexpected(error: Exception) -> int:
    if os.environ.get(DEBUG_VARIABLE) == "1":
        traceback.print_exception(error)
    if _asked:  # a loop that is cut down as it starts or closes fails on its own debris
        return _asked[-1]
    from engine.process.telemetry import (
        mask_text,  # a database's errors quote rows, and stderr is a worker's log
    )

    said = mask_text(f"{type(error).__name__}: {error}")
    return _tell(f"unexpected: {said}; {DEBUG_VARIABLE}=1 shows where", EXIT_UNEXPECTED)
