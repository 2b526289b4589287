"""How many signed events a second are answered 200 after their commit, and how far is that from the floor?

    python -m benchmarks.receiver [SECONDS]

Keep-alive connections post to the receiver, which is pinned to a core of its own; the load is pinned to the
other, Postgres beside it. The yardstick, in the same run: the same load on a bare asyncio.Protocol with
httptools, which answers 200 and keeps nothing. Starts a Postgres of its own, fsync on.

Where the time goes (perf, py-spy): with one status a POST the loop takes a fifth, HTTP and the signature a
quarter, reading the body a quarter, writing the answer an eighth, handing the rows over a twentieth. With a
hundred, reading them takes half (up to half of that the tags, a quarter the JSON), packing them into arrays a
tenth; Postgres takes 1.5 to 2 us a status where a thousand are committed at once, 4 of a hundred.
"""

from __future__ import annotations

from benchmarks.cost import print_conditions
from benchmarks.ending import counts, perform
from campaigns.bench.database import postgres
from campaigns.bench.machine import CORES, sender_cores
from campaigns.bench.receiving import measure


def main() -> None:
    (seconds,) = counts(__doc__, seconds=5)
    print_conditions()
    with postgres() as database:
        for statuses in (1, 100):
            found = measure(database.url, database.pid, statuses, seconds, sender_cores(), CORES[-1:])
            rate = found.posts / found.elapsed_s
            cpu_us, database_us = (
                cpu_s / found.posts / statuses * 1e6 for cpu_s in (found.cpu_s, found.database_cpu_s)
            )
            print(
                f"{statuses:>4} a POST: {rate:>8,.0f} POST/s  {rate * statuses:>9,.0f} statuses/s", end="  "
            )
            print(
                f"p99 {found.p99_ms:.0f} ms   CPU a status {cpu_us:.1f} us, Postgres {database_us:.1f}",
                end="   ",
            )
            print(f"bare {found.bare_per_s:,.0f} POST/s   ratio {rate / found.bare_per_s:.2f}", flush=True)


if __name__ == "__main__":
    perform(main)
