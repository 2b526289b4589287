"""How soon after `drumbeat campaign run` does the first message arrive, however large the campaign?

    python -m benchmarks.start [ROWS [REPEATS]]

The real command, from the start of its process to the first message that arrives at the emulator, for a
campaign of ROWS recipients and for the yardstick, one of 10,000: as a draft whose number nobody has used for
long; run again after Ctrl-C; after kill -9; and after a kill -9 of which nothing proves that the process is
dead (as on another machine). Where another sender was there before, the time counts from the moment at which
`engine.store.leases` permits the next write: a second after the number was given back or its owner killed,
3 s after the lease where the death cannot be proven. Importing the command is measured beside it. What is
measured has been compiled before, as an installation leaves it: an environment that forbids to write bytecode
(PYTHONDONTWRITEBYTECODE) would otherwise have the compiler measured too.
"""

from __future__ import annotations

import asyncio
import compileall
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import IO

from benchmarks.command import IMPORT, RUN, first_arrival_s, running
from benchmarks.cost import print_conditions
from benchmarks.ending import counts, perform
from campaigns.bench.database import Database, postgres
from campaigns.bench.machine import own_core, service_core
from campaigns.bench.planting import plant
from campaigns.bench.processes import BenchFailed, Process, last_line
from campaigns.bench.service import Service, Wanted, own_service
from engine.core.lease import CLAIM_VALID_S, PACE_WINDOW_S
from engine.store.database import connect
from engine.store.queries import queries

YARDSTICK_ROWS = 10_000
RATE_PER_S = 80.0
SENDS_S = 1.0  # before it is ended: it has claimed, sent and stored
ENDS_S_MAX = 15.0

Permitted = Callable[[Database, Process], float]
"""Ends the process; returns when the next may write, on the monotonic clock."""


def interrupt(database: Database, process: Process) -> float:
    """Ctrl-C, and the end that it waits for."""
    process.send_signal(signal.SIGINT)
    if process.wait(ENDS_S_MAX) != 128 + signal.SIGINT:
        raise BenchFailed(f"the run ended with {process.returncode} after Ctrl-C")
    return _leased_until_s(database) + PACE_WINDOW_S


def kill(_: Database, process: Process) -> float:
    """kill -9; this machine can prove the death."""
    process.kill()
    process.wait(ENDS_S_MAX)
    return time.monotonic() + PACE_WINDOW_S


def kill_unseen(database: Database, process: Process) -> float:
    """kill -9 of a process of which nobody here can prove that it is dead."""
    kill(database, process)
    _execute(database, "forget_owners")
    return _leased_until_s(database) + CLAIM_VALID_S + PACE_WINDOW_S


ENDS: dict[str, Permitted] = {
    "after Ctrl-C": interrupt,
    "after kill -9": kill,
    "after kill -9, unseen": kill_unseen,
}


def measured(database: Database, service: Service) -> dict[str, float]:
    """By situation: seconds from the start, or from a later permission, to the first arrival."""
    _execute(database, "back_to_draft")
    _execute(database, "long_released")
    found: dict[str, float] = {}
    permitted_s, situation = 0.0, "first run"
    for next_situation, end in {**ENDS, "": interrupt}.items():
        with tempfile.TemporaryFile() as errors:
            found[situation], permitted_s = _one_run(database, service, errors, permitted_s, end)
        situation = next_situation
    return found


def _one_run(
    database: Database, service: Service, errors: IO[bytes], permitted_s: float, end: Permitted
) -> tuple[float, float]:
    before, began_s = service.accepted(), time.monotonic()
    with running(database, service, errors, "--wait") as process:
        arrived_s = first_arrival_s(service, before, process, errors)
        time.sleep(SENDS_S)
        if process.poll() is not None:
            raise BenchFailed(f"the run ended early: {last_line(errors)}")
        return arrived_s - max(began_s, permitted_s), end(database, process)


def import_s() -> float:
    """How long the interpreter takes to import the command, and nothing else."""
    began_s = time.monotonic()
    subprocess.run([sys.executable, "-W", "ignore", "-c", IMPORT], check=True, preexec_fn=own_core)
    return time.monotonic() - began_s


def _leased_until_s(database: Database) -> float:
    """The end of the lease, or of the number's last use where it was given back, on the monotonic clock."""
    until_s = asyncio.run(_ask(database.url, "leased_until"))
    return float(until_s) - time.time() + time.monotonic()


def _execute(database: Database, statement: str) -> None:
    asyncio.run(_ask(database.url, statement))


async def _ask(url: str, statement: str) -> float:
    connection = await connect(url)
    try:
        return float(await connection.fetchval(queries("bench")[statement]) or 0.0)
    finally:
        await connection.close()


def campaign(rows: int, repeats: int) -> dict[str, list[float]]:
    """By situation, each measurement of a campaign of so many recipients."""
    found: dict[str, list[float]] = {}
    with postgres() as database, own_service(Wanted(1, RATE_PER_S)) as service:
        began_s = time.monotonic()
        asyncio.run(plant(database.url, dict.fromkeys(service.numbers, RATE_PER_S), rows))
        print(f"{rows:,} recipients planted in {time.monotonic() - began_s:.0f} s", flush=True)
        for _ in range(repeats):
            for situation, seconds in measured(database, service).items():
                found.setdefault(situation, []).append(seconds)
    return found


def main() -> None:
    rows, repeats = counts(__doc__, rows=1_000_000, repeats=3)
    for package in ("engine", "campaigns"):
        compileall.compile_dir(Path(__file__).parents[1] / package, quiet=1)
    print_conditions()
    service_core()
    print(f"python {' '.join(RUN)}; median of {repeats}, in brackets the slowest")
    imports = statistics.median(import_s() for _ in range(repeats + 1))
    small, large = campaign(YARDSTICK_ROWS, repeats), campaign(rows, repeats)
    print(f"{'':24}{f'{YARDSTICK_ROWS:,} rows':>20}{f'{rows:,} rows':>22}{'ratio':>8}")
    print(f"{'importing the command':24}{imports:>10.2f} s")
    for situation in small:
        first, second = (statistics.median(one[situation]) for one in (small, large))
        print(
            f"{situation:24}{first:>10.2f} s ({max(small[situation]):.2f})"
            f"{second:>12.2f} s ({max(large[situation]):.2f}){second / first:>7.2f} ×"
        )


if __name__ == "__main__":
    perform(main)
