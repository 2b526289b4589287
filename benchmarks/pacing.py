"""How near does the engine come to the limit, and does it ever touch it?

    python -m benchmarks.pacing [SECONDS]

For each limit, count of numbers and latency of the service: the share of the limit that was reached, the
largest sliding second by the times of writing and by the emulator's arrivals (both as a share of the limit;
1.0 is the limit itself), and the throttled share. The yardstick is the limit; what the pace gives away on
purpose is its headroom of 0.7 %, which `engine.core.bucket` explains.

Judge it on a quiet machine: a stall of the process is lost by law, and one between it and the emulator
compresses arrivals that were written apart. Both show here.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from dataclasses import dataclass

import uvloop

from benchmarks import stage

SECOND_NS = 1_000_000_000
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


@dataclass(frozen=True, slots=True)
class Paced:
    share: float  # of the limit, from half a second after the first write to the last write
    largest: float  # sliding second by times of writing, as a share of the limit
    largest_at_service: float
    throttled: float


def largest_second(written_ns: list[int]) -> int:
    """The most writes in any half-open second that begins with a write."""
    return max(bisect_left(written_ns, begin + SECOND_NS) - place for place, begin in enumerate(written_ns))


def reached_per_s(written_ns: list[int]) -> float:
    """The rate after the first half second, which belongs to the start."""
    steady = written_ns[bisect_left(written_ns, written_ns[0] + SECOND_NS // 2) :]
    return (len(steady) - 1) / ((steady[-1] - steady[0]) / SECOND_NS)


async def measure(
    database_url: str, limit_per_s: float, numbers: int, latency_ms: float, for_s: float
) -> Paced:
    rates = {f"{1000 + n}": limit_per_s for n in range(numbers)}
    campaign_id = await stage.plant(database_url, rates, int(limit_per_s * numbers * (for_s + 2)) + 1_000)
    async with stage.emulator(rates, latency_ms) as url:
        sent = await stage.send(database_url, url, list(rates), campaign_id, for_s=for_s)
        seen = (await stage.ledger(url))["numbers"]
    return Paced(
        sum(map(reached_per_s, sent.written_ns.values())) / (limit_per_s * numbers),
        max(map(largest_second, sent.written_ns.values())) / limit_per_s,
        max(one["largest_window"] for one in seen.values()) / limit_per_s,
        sent.throttled / (sent.messages + sent.throttled),
    )


def main() -> None:
    for_s = float(sys.argv[1]) if len(sys.argv) > 1 else 60.0
    print(f"{stage.conditions()}; {for_s:.0f} s each")
    print("   limit numbers latency   reached   largest second: written   at the service   throttled")
    with stage.postgres() as database_url:
        for limit_per_s, numbers, latency_ms in TABLE:
            paced = uvloop.run(measure(database_url, limit_per_s, numbers, latency_ms, for_s))
            print(
                f"{limit_per_s:>6.0f}/s {numbers:>7} {latency_ms:>4.0f} ms {paced.share:>9.2%}"
                f" {paced.largest:>25.4f} {paced.largest_at_service:>16.4f} {paced.throttled:>11.4%}"
            )


if __name__ == "__main__":
    main()
