"""How near does the engine come to the limit, and does it ever touch it?

    python -m benchmarks.pacing [SECONDS]

For each limit, count of numbers and latency of the service: the share of the limit that was reached, the
largest sliding second by the times of writing and by the emulator's arrivals (both as a share of the limit;
1.0 is the limit itself), and the throttled share. The yardstick is the limit; what the pace gives away on
purpose is its headroom of 0.5 %, which `engine.core.pace.token_bucket` explains.

Judge it on a quiet machine: a stall of the process is lost by law, and one between it and the emulator
compresses arrivals that were written apart. Both show here.
"""

from __future__ import annotations

from benchmarks.cost import print_conditions
from benchmarks.ending import counts, perform
from campaigns.bench.database import postgres
from campaigns.bench.machine import service_core
from campaigns.bench.rounds import Load, Place, run_engine
from campaigns.bench.service import own_service

TABLE = [
    # limit a number and second, numbers, latency in ms
    (20.0, 1, 5.0),
    (80.0, 16, 5.0),
    (80.0, 1, 500.0),
    (250.0, 4, 500.0),
    (1_000.0, 1, 5.0),
    (1_000.0, 1, 500.0),
    (1_000.0, 4, 5.0),
]


def main() -> None:
    (for_s,) = counts(__doc__, seconds=60)
    print_conditions()
    service_core()
    print(f"{for_s} s each")
    print("   limit numbers latency   reached   largest second: written   at the service   throttled")
    with postgres() as database:
        for limit_per_s, numbers, latency_ms in TABLE:
            load = Load(numbers, limit_per_s, latency_ms, duration_s=for_s)
            pace = run_engine(Place(database, own_service), load).pace
            assert pace is not None and pace.reached is not None
            print(
                f"{limit_per_s:>6.0f}/s {numbers:>7} {latency_ms:>4.0f} ms {pace.reached:>9.2%}"
                f" {pace.largest_written:>25.4f} {pace.largest_at_service:>16.4f} {pace.throttled:>11.4%}"
            )


if __name__ == "__main__":
    perform(main)
