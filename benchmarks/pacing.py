"""The benchmark of pacing: how close does the engine come to the limit, and does it ever exceed it?

    python -m drumbeat.benchmarks.pacing [SECONDS]

For each limit, count of numbers and latency: the share of the limit that was reached; the largest sliding
second, by write times and by arrivals at the server (as a share of the limit; 1.0 is the limit itself); the
throttled share; and the sender's CPU a message. The baseline is the limit. The pace stays 0.5 % below it on
purpose; `engine.core.pace.token_bucket` says why. Where a sigma is given, reply times are lognormal around
the latency. In the last two rows the judge is another server than the emulator, with a strict sliding second
(`harness/strict_server.py`), on the core that it shares with Postgres.

Measure on an idle machine. The engine does not make up for a stall of its process, and a stall between engine
and server compresses arrivals that were written apart. Both reduce the figures.
"""

from __future__ import annotations

from dataclasses import dataclass

from drumbeat.benchmarks.harness.database import postgres
from drumbeat.benchmarks.harness.emulators import EmulatorFactory, own_emulator
from drumbeat.benchmarks.harness.machine import move_to_service_core
from drumbeat.benchmarks.harness.results import Load
from drumbeat.benchmarks.harness.script import counts, print_conditions, run_script
from drumbeat.benchmarks.harness.strict_server import strict_server
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.benchmarks.senders.runs import run_engine


@dataclass(frozen=True, slots=True)
class PacingCase:
    """A case. `limit_per_s`: the limit of each number. `jitter`: sigma of the lognormal reply times around
    `latency_ms`. `judge`: the server that counts and throttles.
    """

    limit_per_s: float
    numbers: int
    latency_ms: float
    jitter: float = 0.0
    judge: EmulatorFactory = own_emulator


TABLE = (
    PacingCase(20.0, 1, 5.0),
    PacingCase(80.0, 16, 5.0),
    PacingCase(80.0, 1, 500.0),
    PacingCase(250.0, 4, 500.0),
    PacingCase(1_000.0, 1, 5.0),
    PacingCase(1_000.0, 1, 500.0),
    PacingCase(1_000.0, 4, 5.0),
    PacingCase(1_000.0, 1, 20.0, 0.3),
    PacingCase(1_000.0, 1, 20.0, 0.6),
    PacingCase(1_000.0, 1, 200.0, 0.3),
    PacingCase(1_000.0, 1, 200.0, 0.6),
    PacingCase(1_000.0, 1, 800.0, 0.3),
    PacingCase(1_000.0, 4, 200.0, 0.3),
    PacingCase(80.0, 16, 200.0, 0.3),
    PacingCase(1_000.0, 1, 0.0, judge=strict_server),
    PacingCase(1_000.0, 16, 0.0, judge=strict_server),
)


def main() -> None:
    (for_s,) = counts(__doc__, seconds=60)
    print_conditions()
    move_to_service_core()
    print(f"{for_s} s each")
    print(
        "   limit numbers latency sigma judge      reached   largest second: written   at the server"
        "   throttled     CPU each"
    )
    with postgres() as database:
        for row in TABLE:
            load = Load(row.numbers, row.limit_per_s, row.latency_ms, row.jitter, duration_s=for_s)
            run = run_engine(Testbed(database, row.judge), load)
            pace, judge = run.pace, "emulator" if row.judge is own_emulator else "strict"
            assert pace is not None and pace.reached is not None
            print(
                f"{row.limit_per_s:>6.0f}/s {row.numbers:>7} {row.latency_ms:>4.0f} ms {row.jitter:>5.1f}"
                f" {judge:8}"
                f" {pace.reached:>9.2%} {pace.largest_written:>25.4f} {pace.largest_at_service:>15.4f}"
                f" {pace.throttled:>11.4%} {run.cpu_us:>9.1f} µs",
                flush=True,
            )


if __name__ == "__main__":
    run_script(main)
