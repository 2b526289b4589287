"""The frame of every benchmark script: it reads options, prints the conditions, and leaves nothing behind.

SIGTERM and SIGHUP end a script through every `finally`, as Ctrl-C does. The watchdog cleans up after kill -9.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from drumbeat.benchmarks.harness.machine import conditions
from drumbeat.benchmarks.harness.watchdog import watchdog
from drumbeat.engine.errors import DrumbeatError

EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_BROKEN_PIPE = 128 + signal.SIGPIPE


def run_script(main: Callable[[], object]) -> NoReturn:
    """Run `main` and exit; `main` may return an exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # ignored under nohup
            signal.signal(number, _stop)
    try:
        with watchdog():
            code = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # the interpreter flushes stdout at exit
        code = EXIT_BROKEN_PIPE
    except DrumbeatError as error:
        print(f"{script_name()}: {error}", file=sys.stderr)
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)


def script_name() -> str:
    """Return the command that calls this script."""
    return f"python -m drumbeat.benchmarks.{Path(sys.argv[0]).stem}"


def print_conditions(processes: int = 1) -> None:
    """Print machine, date, load and command, so that the figures can be judged and repeated."""
    print(conditions(" ".join((script_name(), *sys.argv[1:])), processes).line)


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help is the script's docstring."""
    return argparse.ArgumentParser(
        prog=script_name(), description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def counts(doc: str | None, **defaults: int) -> list[int]:
    """Return the positional arguments of the command line, each an integer of 1 or more with this default."""
    parser = parser_of(doc)
    for name, default in defaults.items():
        add_count(parser, name, default)
    found = parser.parse_args()
    return [getattr(found, name) for name in defaults]


def add_count(parser: argparse.ArgumentParser, name: str, default: int) -> None:
    """Add an optional positional integer."""
    parser.add_argument(
        name, nargs="?", type=count, default=default, metavar=name.upper(), help=f"default: {default:,}"
    )


def count(text: str) -> int:
    """Return an integer of 1 or more, as an argument type."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is not a whole number of 1 or more")
    return int(text)


def _stop(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)
