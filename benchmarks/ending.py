"""How a benchmark here begins and ends: its few numbers read, and nothing of it left behind by any end.

SIGTERM and SIGHUP end it through every `finally`, as Ctrl-C does. What a kill leaves is ended by the bench's
guardian.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NoReturn

from campaigns.bench.guardian import guarded
from engine.errors import DrumbeatError

EXIT_INTERRUPTED = 128 + signal.SIGINT
EXIT_NOT_READ = 128 + signal.SIGPIPE


def perform(main: Callable[[], object]) -> NoReturn:
    """Run a benchmark to its end; `main` may return an exit code."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _stop)
    try:
        with guarded():
            code = main()
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # its last flush has nowhere to go
        code = EXIT_NOT_READ
    except DrumbeatError as error:
        print(f"{name()}: {error}", file=sys.stderr)
        code = error.exit_code
    sys.exit(code if isinstance(code, int) else 0)


def name() -> str:
    """How this program is called."""
    return f"python -m benchmarks.{Path(sys.argv[0]).stem}"


def parser_of(doc: str | None) -> argparse.ArgumentParser:
    """For the options of a benchmark, whose own words are its help."""
    return argparse.ArgumentParser(
        prog=name(), description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def counts(doc: str | None, **defaults: int) -> list[int]:
    """The numbers of the command line in this order, each with its name in the help; all are 1 or more."""
    parser = parser_of(doc)
    for one, default in defaults.items():
        add_count(parser, one, default)
    found = parser.parse_args()
    return [getattr(found, one) for one in defaults]


def add_count(parser: argparse.ArgumentParser, one: str, default: int) -> None:
    """A number that may be left out."""
    parser.add_argument(
        one, nargs="?", type=count, default=default, metavar=one.upper(), help=f"default: {default:,}"
    )


def count(text: str) -> int:
    """A whole number of things, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text} is no whole number from 1")
    return int(text)


def _stop(number: int, _: object) -> NoReturn:
    raise SystemExit(128 + number)
