"""The benchmark of the start: how soon after `drumbeat campaign run` does the first message arrive, however
large the campaign is?

    python -m drumbeat.benchmarks.start [ROWS [REPEATS]]

Measures the real command from the start of its process to the first message at the emulator, for a campaign
of ROWS recipients; the baseline is a campaign of 10,000. There are four situations: a draft whose number
nobody has used for long; again after Ctrl-C; again after kill -9; and after kill -9 when nothing proves that
the process is dead (as on another machine). If another sender was there before, the time starts when
`engine.store.leases` permits the next write: a second after the number was released or its owner killed, 3 s
after the lease if the death cannot be proven. The import of the command is measured beside it. All modules
are compiled first, as an installation leaves them, because with PYTHONDONTWRITEBYTECODE each start would
compile them again.
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

from drumbeat.benchmarks.harness.campaign_command import IMPORT, RUN, first_arrival_s, running
from drumbeat.benchmarks.harness.database import Database, postgres
from drumbeat.benchmarks.harness.emulators import EmulatorSpec, MeasuredEmulator, own_emulator
from drumbeat.benchmarks.harness.machine import move_to_sender_core, move_to_service_core
from drumbeat.benchmarks.harness.processes import BenchmarkFailed, Process, last_line
from drumbeat.benchmarks.harness.script import counts, print_conditions, run_script
from drumbeat.benchmarks.harness.seeding import seed_campaign
from drumbeat.benchmarks.harness.statements import SQL
from drumbeat.engine.core.lease import CLAIM_VALID_S, PACE_WINDOW_S
from drumbeat.engine.store.database import connect

BASELINE_ROWS = 10_000
RATE_PER_S = 80.0
SENDS_S = 1.0  # before it is stopped; by then it has claimed, sent and stored
ENDS_S_MAX = 15.0

End = Callable[[Database, Process], float]
"""A function that ends the process and returns when the next one may write, on the monotonic clock."""


def interrupt(database: Database, process: Process) -> float:
    """Send Ctrl-C, and wait until the process has ended. Return when the next one may write."""
    process.send_signal(signal.SIGINT)
    if process.wait(ENDS_S_MAX) != 128 + signal.SIGINT:
        raise BenchmarkFailed(f"the run ended with {process.returncode} after Ctrl-C")
    return _leased_until_s(database) + PACE_WINDOW_S


def kill(_: Database, process: Process) -> float:
    """Kill the process with kill -9, when this machine can prove that it is dead. Return when the next one
    may write.
    """
    process.kill()
    process.wait(ENDS_S_MAX)
    return time.monotonic() + PACE_WINDOW_S


def kill_unproven(database: Database, process: Process) -> float:
    """Kill the process with kill -9, when this machine cannot prove that it is dead. Return when the next one
    may write.
    """
    kill(database, process)
    _execute(database, "forget_owners")
    return _leased_until_s(database) + CLAIM_VALID_S + PACE_WINDOW_S


ENDS: dict[str, End] = {
    "after Ctrl-C": interrupt,
    "after kill -9": kill,
    "after kill -9, unproven": kill_unproven,
}


def measured(database: Database, emulator: MeasuredEmulator) -> dict[str, float]:
    """Return, for each situation, the seconds to the first arrival: from the start, or from the permission to
    write.
    """
    _execute(database, "back_to_draft")
    _execute(database, "long_released")
    found: dict[str, float] = {}
    permitted_s, situation = 0.0, "first run"
    for next_situation, end in {**ENDS, "": interrupt}.items():
        with tempfile.TemporaryFile() as errors:
            found[situation], permitted_s = _one_run(database, emulator, errors, permitted_s, end)
        situation = next_situation
    return found


def _one_run(
    database: Database, emulator: MeasuredEmulator, errors: IO[bytes], permitted_s: float, end: End
) -> tuple[float, float]:
    before, began_s = emulator.accepted(), time.monotonic()
    with running(database, emulator, errors, "--wait") as process:
        arrived_s = first_arrival_s(emulator, before, process, errors)
        time.sleep(SENDS_S)
        if process.poll() is not None:
            raise BenchmarkFailed(f"the run ended early: {last_line(errors)}")
        return arrived_s - max(began_s, permitted_s), end(database, process)


def import_s() -> float:
    """Return how long the interpreter takes to start, import the command and end."""
    began_s = time.monotonic()
    subprocess.run([sys.executable, "-W", "ignore", "-c", IMPORT], check=True, preexec_fn=move_to_sender_core)
    return time.monotonic() - began_s


def _leased_until_s(database: Database) -> float:
    """Return when the lease ends, or when the number was released, on the monotonic clock."""
    until_s = asyncio.run(_ask(database.url, "leased_until"))
    return float(until_s) - time.time() + time.monotonic()


def _execute(database: Database, statement: str) -> None:
    asyncio.run(_ask(database.url, statement))


async def _ask(url: str, statement: str) -> float:
    connection = await connect(url)
    try:
        return float(await connection.fetchval(SQL[statement]) or 0.0)
    finally:
        await connection.close()


def campaign(rows: int, repeats: int) -> dict[str, list[float]]:
    """Return the measurements of a campaign of `rows` recipients, for each situation."""
    found: dict[str, list[float]] = {}
    with postgres() as database, own_emulator(EmulatorSpec(1, RATE_PER_S)) as emulator:
        began_s = time.monotonic()
        asyncio.run(seed_campaign(database.url, dict.fromkeys(emulator.numbers, RATE_PER_S), rows))
        print(f"{rows:,} recipients stored in {time.monotonic() - began_s:.0f} s", flush=True)
        for _ in range(repeats):
            for situation, seconds in measured(database, emulator).items():
                found.setdefault(situation, []).append(seconds)
    return found


def main() -> None:
    rows, repeats = counts(__doc__, rows=1_000_000, repeats=3)
    for package in ("engine", "campaigns"):
        compileall.compile_dir(Path(__file__).parents[1] / package, quiet=1)
    print_conditions()
    move_to_service_core()
    print(f"python {' '.join(RUN)}; median of {repeats}, in brackets the slowest")
    imports = statistics.median(import_s() for _ in range(repeats + 1))
    small, large = campaign(BASELINE_ROWS, repeats), campaign(rows, repeats)
    print(f"{'':24}{f'{BASELINE_ROWS:,} rows':>20}{f'{rows:,} rows':>22}{'ratio':>8}")
    print(f"{'importing the command':24}{imports:>10.2f} s")
    for situation in small:
        first, second = (statistics.median(found[situation]) for found in (small, large))
        print(
            f"{situation:24}{first:>10.2f} s ({max(small[situation]):.2f})"
            f"{second:>12.2f} s ({max(large[situation]):.2f}){second / first:>7.2f} ×"
        )


if __name__ == "__main__":
    run_script(main)
