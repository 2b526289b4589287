"""How many status events a second become states, against the bare UPDATE by primary key that they amount to?

    python -m benchmarks.fold [RECIPIENTS [EVENTS_A_COMMIT]]

Three events (sent, delivered, read) a recipient, in the disorder of a real stream, committed 1,000 at once
unless said otherwise, in batches of 10,000, from the inbox to the range_counters. Two streams: in one the
events of a recipient come close together, so that a batch writes its row once for some of them; in the other
each comes alone. The yardstick, in the same run on the same rows: `UPDATE ... FROM` of 10,000 keys by primary
key and nothing else: no inbox, no reduction, no range_counters. Starts a Postgres of its own; fsync is on.

Where the time goes (EXPLAIN ANALYZE of each statement, perf): over four tenths in finding and writing the
rows, a quarter in looking up what is recorded, a fifth in taking the events out of their groups, sorting and
reducing them, a twentieth in the commit, and some hundredths each in finding the groups, deleting them and
counting. No function stands out: tuples are formed and taken apart at every step, so fewer and narrower steps
pay.
"""

from __future__ import annotations

from benchmarks.cost import print_conditions
from benchmarks.ending import counts, perform
from campaigns.bench.database import postgres
from campaigns.bench.folding import APART, Folded, measure
from engine.webhooks.packing import GROUP_EVENTS_MAX


def print_folded(name: str, found: Folded) -> None:
    rate = found.events / found.elapsed_s
    own_us, database_us = (cpu_s / found.events * 1e6 for cpu_s in (found.cpu_s, found.database_cpu_s))
    print(f"{name}: fold {rate:,.0f} events/s   bare UPDATE {found.bare_per_s:,.0f} rows/s", end="   ")
    print(f"ratio {rate / found.bare_per_s:.2f}")
    print(f"  CPU an event: Postgres {database_us:.1f} µs, own {own_us:.1f} µs", end="   ")
    print(f"rows written an event {found.updates / found.events:.2f}, {found.hot / found.updates:.0%} HOT")
    print(f"  outcomes with their indexes: {found.before_mb:.1f} MB before, {found.after_mb:.1f} MB after")


def main() -> None:
    recipients, commit_events = counts(__doc__, recipients=100_000, events_a_commit=GROUP_EVENTS_MAX)
    print_conditions()
    with postgres() as database:
        for name in APART:
            print_folded(name, measure(database.url, recipients, name, commit_events))


if __name__ == "__main__":
    perform(main)
