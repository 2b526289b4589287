"""How fast is a plan, and how much memory does it take? The yardstick is bare COPY of the same file.

    python -m benchmarks.plan [ROWS [REPEATS]]

Prints rows per second, CPU a row of every process and the peak of resident memory. Starts a Postgres of its
own, on both cores as the plan is.

Where the time goes (py-spy, each step timed by itself, a row of a million of 40 bytes): two worker processes
read, check and write the rows for COPY in 2.5 µs, a third of it lines and cells, a quarter each the phone's
pattern and the text for COPY; their start is another 0.2. The process itself takes 0.9: a third of it decodes
the file, another cuts the rows into ranges. Postgres takes 4.5 to 5.5: 0.3 the keys to staging, 0.6 the
duplicates (one sort, the only stage that leaves a core idle), 3.0 writing the recipients, a third of that the
primary key, and 0.3 counting them. Looking for cyclic garbage while rows are lists would take as much as all
checks together; the workers do without. To stage rows as columns would cost Postgres 1.5 more: it would read,
number and write out each of them again.
"""

from __future__ import annotations

import resource
import statistics
import tempfile

from benchmarks.cost import print_conditions
from benchmarks.ending import counts, perform
from campaigns.bench.database import postgres
from campaigns.bench.machine import on_every_core
from campaigns.bench.planning import Planned, measure


def print_planned(found: Planned) -> None:
    shares = (found.own_cpu_s, found.workers_cpu_s, found.database_cpu_s)
    own, workers, store = (cpu_s / found.rows * 1e6 for cpu_s in shares)
    print(
        f"plan {found.rows / found.elapsed_s:>9,.0f} rows/s   bare COPY {found.bare_per_s:>9,.0f} rows/s",
        end="   ",
    )
    print(f"CPU a row: own {own:.1f}, workers {workers:.1f}, Postgres {store:.1f} µs", end="   ")
    print(", ".join(f"{stage} until {at_s:.1f} s" for stage, at_s in found.ended_s.items()), flush=True)


def main() -> None:
    rows, repeats = counts(__doc__, rows=1_000_000, repeats=5)
    print_conditions()
    found: list[Planned] = []
    with postgres() as database, on_every_core(database.pid), tempfile.TemporaryDirectory() as directory:
        for _ in range(repeats):
            found.append(measure(database.url, database.pid, rows, directory))
            print_planned(found[-1])
    planned = statistics.median(one.rows / one.elapsed_s for one in found)
    bare = statistics.median(one.bare_per_s for one in found)
    print(f"median: plan {planned:,.0f} rows/s, bare COPY {bare:,.0f} rows/s, ratio {planned / bare:.2f}")
    peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"peak memory of the planning process {peak_mib:,.0f} MiB")


if __name__ == "__main__":
    perform(main)
