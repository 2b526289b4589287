"""The command `drumbeat`: finds the module of a command, and turns errors into a line and an exit code."""

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

from drumbeat.campaigns.cli.lazy import CommandGroup, import_without, lazy_group
from drumbeat.campaigns.cli.streams import STDOUT, discard_stdout, secure_streams, stdout_error
from drumbeat.campaigns.command_text import flag
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.errors import ConfigurationError, DrumbeatError, UsageError
from drumbeat.engine.process.memory import COLLECTION_OBJECTS

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop, Handle

EXIT_UNEXPECTED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_READER_GONE = 128 + signal.SIGPIPE  # the shell's exit code for a broken pipe
HELP = "--help"
JSON = "--json"
PRINTING = "drumbeat.campaigns.cli.printing"
NOT_CONFIRMED = "not_confirmed"  # the code of a question that was not answered with yes
HEALTH = "health"  # runs every few seconds and reads no settings
NOT_UTF_8 = "surrogates not allowed"  # the error text of Python, orjson and the database's driver
DEBUG_VARIABLE = "DRUMBEAT_DEBUG"

# The module of each command. A command imports only its own module, so that it starts fast.
CAMPAIGN_COMMANDS = {
    "create": "drumbeat.campaigns.cli.create",
    "apply": "drumbeat.campaigns.cli.apply",
    "clone": "drumbeat.campaigns.cli.drafts",
    "edit": "drumbeat.campaigns.cli.drafts",
    "delete": "drumbeat.campaigns.cli.drafts",
    "preview": "drumbeat.campaigns.cli.preview",
    "test-send": "drumbeat.campaigns.cli.test_send",
    "plan": "drumbeat.campaigns.cli.plan",
    "list": "drumbeat.campaigns.cli.status",
    "status": "drumbeat.campaigns.cli.status",
    "run": "drumbeat.campaigns.cli.run",
    "watch": "drumbeat.campaigns.cli.watch",
    "start": "drumbeat.campaigns.cli.control",
    "pause": "drumbeat.campaigns.cli.control",
    "resume": "drumbeat.campaigns.cli.control",
    "approve": "drumbeat.campaigns.cli.control",
    "accept-category": "drumbeat.campaigns.cli.control",
    "order": "drumbeat.campaigns.cli.order",
    "cancel": "drumbeat.campaigns.cli.control",
    "report": "drumbeat.campaigns.cli.report",
    "export": "drumbeat.campaigns.cli.export",
    "replies": "drumbeat.campaigns.cli.replies",
    "retry": "drumbeat.campaigns.cli.retry",
    "settle": "drumbeat.campaigns.cli.settle",
}
COMMANDS: dict[str, str | CommandGroup] = {
    "demo": "drumbeat.campaigns.cli.demo",
    "bench": "drumbeat.campaigns.cli.bench",
    "doctor": "drumbeat.campaigns.cli.doctor",
    HEALTH: "drumbeat.campaigns.cli.health",
    "db": "drumbeat.campaigns.cli.db",
    "numbers": "drumbeat.campaigns.cli.numbers",
    "templates": "drumbeat.campaigns.cli.templates",
    "media": "drumbeat.campaigns.cli.media",
    "profile": "drumbeat.campaigns.cli.profile",
    "analytics": "drumbeat.campaigns.cli.analytics",
    "audience": "drumbeat.campaigns.cli.audience",
    "suppress": "drumbeat.campaigns.cli.suppress",
    "campaign": CommandGroup("Create campaigns, send them, and see their results.", CAMPAIGN_COMMANDS),
    "message": "drumbeat.campaigns.cli.message",
    "person": "drumbeat.campaigns.cli.person",
    "worker": "drumbeat.campaigns.cli.worker",
    "notify": "drumbeat.campaigns.cli.notify",
    "subscriptions": "drumbeat.campaigns.cli.subscriptions",
    "webhooks": "drumbeat.campaigns.cli.webhooks",
    "console": "drumbeat.campaigns.cli.console",
    "emulator": "drumbeat.campaigns.cli.emulator",
}

EPILOG = (
    "Each setting is read from these options, else from an environment variable (DRUMBEAT_HOME,"
    " DRUMBEAT_BASE_URL and so on), else from drumbeat.toml in the working directory.\n\n"
    "Exit codes: 0 done; 1 unexpected error; 2 wrong command line; 3 done, but not for everybody; 69 the"
    " service or the database does not answer; 75 try again later; 77 token or password refused; 78 wrong"
    " configuration; 129, 130 and 143 stopped by a signal after a clean end; 141 the reader of the output is"
    " gone."
)
app = typer.Typer(
    name="drumbeat",
    cls=lazy_group(COMMANDS),
    help="Send campaigns at the permitted pace. Nobody gets a message twice, and nobody is forgotten.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version  # takes 10 ms, which other commands need not pay

        typer.echo(f"drumbeat {version('drumbeat')}")
        raise typer.Exit


@app.callback()
def settings(
    context: typer.Context,
    home: Annotated[
        Path | None,
        typer.Option(
            help="Directory for data. Default: /var/lib/drumbeat for root, else the user's data directory.",
            metavar="DIRECTORY",
        ),
    ] = None,
    base_url: Annotated[str | None, typer.Option(help="Address of the service.", metavar="URL")] = None,
    api_version: Annotated[
        str | None, typer.Option(help="Version of the service's interface.", metavar="vN.N")
    ] = None,
    waba_id: Annotated[str | None, typer.Option(help="Id of the business account.", metavar="ID")] = None,
    product: Annotated[
        str | None, typer.Option(help="Word for the product in the service's identifiers.")
    ] = None,
    version: Annotated[  # noqa: ARG001 - its callback acts on it
        bool,
        typer.Option("--version", help="Print the version and exit.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """Read the settings, so that a wrong one is reported before anything starts."""
    if context.invoked_subcommand == HEALTH:
        return
    import_log()
    # pydantic would read the metadata of every installed package to look for plugins.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    from drumbeat.campaigns.cli.task_runner import (
        prepare,  # imports the database's driver: a quarter of a second
    )

    try:
        prepare(home=home, base_url=base_url, api_version=api_version, waba_id=waba_id, product=product)
    except ConfigurationError:
        if HELP not in context.obj:  # the help must work before the settings are right
            raise


def import_log() -> None:
    """Import structlog without rich, which it would only use for tracebacks in colour."""
    import_without("rich", "structlog")  # saves a tenth of a run's start


class Terminated(SystemExit):
    """The exception that SIGTERM and SIGHUP raise, so that the command ends through every `finally`, as on
    Ctrl-C. Event loops do not catch a SystemExit.
    """


_scheduled_ends: list[Handle] = []  # callbacks that end the event loop
_signal_codes: list[int] = []  # exit codes of the signals received so far


def run() -> None:
    """Run the command line, and exit with its code. This is the entry point of the console script."""
    # Imported objects stay: to look for garbage among them took 8 % of the import time.
    gc.set_threshold(COLLECTION_OBJECTS)
    secure_streams()
    sys.exit(main(sys.argv[1:]))


def main(arguments: Sequence[str]) -> int:
    """Run one command line and return its exit code. Never raises."""
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:  # under nohup, it is ignored
        signal.signal(signal.SIGHUP, _terminate)
    exit_code = _run(arguments)
    _forget_output()
    if (problem := stdout_error()) is not None:
        exit_code = _report_stdout_error(problem, exit_code)
    elif exit_code == EXIT_READER_GONE:
        discard_stdout()
    return exit_code


def _report_stdout_error(problem: OSError, exit_code: int) -> int:
    """Return the exit code of a command whose output was not written. An error of its own comes first."""
    discard_stdout()
    if isinstance(problem, BrokenPipeError):
        return EXIT_READER_GONE
    written = _print_error(f"cannot write to stdout: {problem.strerror}", ConfigurationError.exit_code)
    return exit_code or written


def _stdout_has_reader() -> bool:
    """Return whether stdout still has a reader; `head` ends when it has enough lines."""
    if isinstance(stdout_error(), BrokenPipeError):  # rich has put /dev/null in the place of stdout
        return False
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
    except SystemExit as end:  # typer raises a bare 1 for any broken pipe
        return _print_closed(end.__context__, arguments) if _stdout_has_reader() else EXIT_READER_GONE
    except typer.Abort:
        unconfirmed = "you did not confirm; nothing was changed"
        return _report(arguments, DrumbeatError(unconfirmed), code=NOT_CONFIRMED)
    except typer.TyperException as error:
        return _print_usage_error(error, arguments)
    except DrumbeatError as error:
        return _report(arguments, error)
    except Exception as error:
        if isinstance(error, OSError) and stdout_error() is not None:
            return 0  # only stdout failed, which `main` reports
        if NOT_UTF_8 in str(error) and (problem := _not_utf_8(arguments)):
            return _report(arguments, UsageError(problem))
        return _print_unexpected(error, arguments)


def _terminate(number: int, _: object) -> None:
    """End the command. In an event loop, between two steps: a driver may not survive the exception."""
    _signal_codes.append(128 + number)
    loop, scheduled = _running_loop(), [*_scheduled_ends]
    for end in scheduled:
        end.cancel()
    if loop is None or scheduled:
        raise Terminated(128 + number)
    _scheduled_ends.append(loop.call_soon_threadsafe(_raise, Terminated(128 + number)))


def _running_loop() -> AbstractEventLoop | None:
    if "asyncio" not in sys.modules:  # then no loop runs
        return None
    with suppress(RuntimeError, ImportError):  # the module may be half imported
        from asyncio import get_running_loop

        return get_running_loop()
    return None


def _raise(end: Terminated) -> None:
    raise end


def _print_error(line: str, exit_code: int) -> int:
    typer.echo(f"drumbeat: {sanitise(' '.join(line.split()))}", err=True)
    return exit_code


def _report(arguments: Sequence[str], error: DrumbeatError, *, code: str = "", line: str = "") -> int:
    """Print the problem in one line for people; with --json, also as a document for programs. `code` and
    `line` replace those of the error.
    """
    if JSON in arguments:
        from drumbeat.campaigns.cli.printing import print_problem  # only a command that prints needs orjson

        with suppress(OSError):  # `main` reports a failed stdout; the exit code of the error matters more
            print_problem(error.as_json(flag) | ({"code": code} if code else {}))
    return _print_error(line or error.line(flag), error.exit_code)


def _forget_output() -> None:
    if (printing := sys.modules.get(PRINTING)) is not None:
        printing.forget()


def _print_usage_error(error: typer.TyperException, arguments: Sequence[str]) -> int:
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        return EXIT_USAGE  # typer has printed the help
    advice = f"Try `{context.command_path} --help`." if context is not None else ""
    message = error.format_message().replace("Value error, ", "").rstrip(".")  # pydantic's prefix
    sentence = f"{message}{'' if message.endswith('?') else '.'}"
    return _report(arguments, UsageError(sentence, remedy=advice), line=f"{sentence} {advice}")


def _not_utf_8(arguments: Sequence[str]) -> str:
    """Name the first argument that is not UTF-8. Only a path may be such bytes."""
    for position, argument in enumerate(arguments, 1):
        if any("\udc80" <= character <= "\udcff" for character in argument):  # Python's form of such bytes
            escaped = os.fsencode(argument).decode(errors="backslashreplace")
            return f'argument {position} is not UTF-8: "{escaped}"'
    return ""


def _print_closed(problem: BaseException | None, arguments: Sequence[str]) -> int:
    return _print_unexpected(problem, arguments) if isinstance(problem, OSError) else EXIT_UNEXPECTED


def _print_unexpected(error: Exception, arguments: Sequence[str]) -> int:
    if os.environ.get(DEBUG_VARIABLE) == "1":
        traceback.print_exception(error)
    if _signal_codes:  # a loop that a signal ends while it starts or closes may fail
        return _signal_codes[-1]
    from drumbeat.engine.process.telemetry import (
        mask_text,  # errors of a database quote rows, and stderr is a log
    )

    masked = mask_text(f"{type(error).__name__}: {error}")
    remedy = f"set {DEBUG_VARIABLE}=1 to see where it happened"
    unexpected = DrumbeatError(f"unexpected error: {masked}", remedy=remedy)
    return _report(arguments, unexpected, line=f"{unexpected.what}; {remedy}")
