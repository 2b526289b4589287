"""`drumbeat worker`: sends every running campaign through some numbers, until it is stopped."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Annotated

import typer

from campaigns.cli.edge import QUIET_HELP, note, with_database, with_settings
from campaigns.cli.signals import stop_on_signals
from campaigns.numbers import Number, list_numbers
from engine.app import run_numbers
from engine.errors import ConfigurationError
from engine.settings import Settings
from engine.store.database import Pool
from engine.telemetry import quieten

app = typer.Typer(add_completion=False)

POOL_SIZE = 16
LOOK_PERIOD_S = 0.2
END_S_MAX = 10.0  # a drain takes 5 s; then the operating system ends a process
EXIT_CUT_SHORT = 1


@app.command()
def worker(
    number: Annotated[
        list[str] | None, typer.Option(help="Phone number ID; default: all.", metavar="PNID")
    ] = None,
    processes: Annotated[int, typer.Option(help="Share the numbers out among so many.", min=1, max=64)] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help=QUIET_HELP)] = False,
) -> None:
    """Send every running campaign through these numbers. Ctrl-C or SIGTERM stops it in order."""
    if quiet:
        quieten()
    numbers = _chosen(with_database(list_numbers), number)
    if processes == 1:
        raise typer.Exit(_work([chosen.phone_number_id for chosen in numbers]))
    raise typer.Exit(_supervise(shares(numbers, processes), quiet))


def shares(numbers: Sequence[Number], processes: int) -> list[list[str]]:
    """Numbers shared out by their limits, so that no process has much more to send than another."""
    loads = [0.0] * min(processes, len(numbers))
    parts: list[list[str]] = [[] for _ in loads]
    for number in sorted(numbers, key=lambda one: -one.limit_per_s):
        lightest = loads.index(min(loads))
        loads[lightest] += number.limit_per_s
        parts[lightest].append(number.phone_number_id)
    return parts


def _chosen(known: list[Number], wanted: list[str] | None) -> list[Number]:
    chosen = known if wanted is None else [number for number in known if number.phone_number_id in wanted]
    missing = set(wanted or ()) - {number.phone_number_id for number in chosen}
    if missing or not chosen:
        what = f"there is no number {', '.join(sorted(missing))}" if missing else "no number is stored"
        raise ConfigurationError(what, remedy="run `drumbeat numbers sync`")
    return chosen


def _work(phone_number_ids: list[str]) -> int:
    async def main(pool: Pool, settings: Settings) -> int:
        with stop_on_signals() as stop:
            end = await run_numbers(
                pool,
                settings.service(),
                phone_number_ids=phone_number_ids,
                campaign_id=None,
                stop=stop.event,
                disk=settings.disk(),
            )
            return stop.exit_code if end.drained else EXIT_CUT_SHORT

    return with_settings(main, size=POOL_SIZE)


def _supervise(parts: list[list[str]], quiet: bool) -> int:
    """Start a process for each part. When one ends, all end: whoever started us starts us again, whole."""
    # Groups of their own: a Ctrl-C reaches us alone, and each child gets one signal, which means "drain".
    children = [subprocess.Popen(_command(part, quiet), process_group=0) for part in parts]  # noqa: S603 - ours
    try:
        while all(child.poll() is None for child in children):
            time.sleep(LOOK_PERIOD_S)
    finally:
        codes = _end(children)
    note(f"the processes ended with {', '.join(map(str, codes))}")
    return next((128 - code if code < 0 else code for code in codes if code not in (0, 128 + 15)), 1)


def _command(part: list[str], quiet: bool) -> list[str]:
    options = [word for phone_number_id in part for word in ("--number", phone_number_id)]
    return [sys.executable, "-m", "campaigns.cli", "worker", *options, *(["--quiet"] if quiet else [])]


def _end(children: list[subprocess.Popen[bytes]]) -> list[int]:
    for child in children:
        if child.poll() is None:
            child.terminate()
    deadline_s = time.monotonic() + END_S_MAX
    for child in children:
        try:
            child.wait(max(0.1, deadline_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
    return [child.wait() for child in children]
