"""The benchmark of throughput: how many messages a second does the engine send on one core, durable and with
every guarantee?

    python -m drumbeat.benchmarks.throughput [REPEATS] [--repeats 5] [--numbers 32] [--rate 1000]
        [--messages 200000] [--latency-ms 0] [--processes 1] [--events] [--only engine] [--json]

The baselines run in turn with the engine, against the same emulator (`senders/baselines.py`): a plain aiohttp
loop, the same loop by an engineer who knows aiohttp, a user's first script, a loop over httpx, the engine's
own connections, and a raw Protocol that parses no HTTP. All run on uvloop. Status events are off. With
`--events` three events a message come back to a receiver on the service's core and are stored and applied
while the engine sends; the baselines run without. `guarded` is the engine with a campaign that has quiet
hours in the recipients' zone and a frequency cap; each person got a message of another campaign yesterday.

Profile (perf, py-spy): three tenths of a message's CPU are the kernel's, for two system calls; six tenths are
the interpreter's, for 76 calls, of which 30 are Python functions: a sixth for pages, guards, payloads and the
claim, a tenth each to store outcomes, to read the reply and to open connections. `benchmarks/README.md` has
the figures.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial

from drumbeat.benchmarks.harness.database import postgres
from drumbeat.benchmarks.harness.machine import move_to_service_core
from drumbeat.benchmarks.harness.results import Load, Run
from drumbeat.benchmarks.harness.script import count, parser_of, print_conditions, run_script
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.benchmarks.senders.runs import run_baseline, run_engine

ENGINE, GUARDED = "engine", "guarded"


@dataclass(frozen=True, slots=True)
class Baseline:
    """A baseline. `messages`: enough to keep it busy for seconds; the speed of a core changes within one."""

    title: str
    messages: int


ENGINES = {ENGINE: "engine, durable", GUARDED: "engine, with quiet hours and a frequency cap"}
# By the name of their function in `senders.baselines`.
BASELINES = {
    "plain_loop": Baseline("plain aiohttp loop, stores nothing", 30_000),
    "tuned_loop": Baseline("tuned aiohttp loop, stores nothing", 50_000),
    "first_script": Baseline("first script: a task and an INSERT a message", 15_000),
    "httpx_loop": Baseline("httpx loop, stores nothing", 1_500),
    "engine_transport": Baseline("the engine's connections alone", 100_000),
    "raw_protocol": Baseline("raw Protocol, parses no HTTP", 100_000),
}


@dataclass(frozen=True, slots=True)
class Options:
    """The options. `only`: parts of names; empty means all."""

    repeats: int
    load: Load
    only: tuple[str, ...]
    as_json: bool

    def wants(self, name: str) -> bool:
        return not self.only or any(part in name for part in self.only)


def parsed() -> Options:
    parser = parser_of(__doc__)
    parser.add_argument("count", nargs="?", type=count, metavar="REPEATS", help="as --repeats")
    parser.add_argument("--repeats", type=count, default=5, help="the median is printed")
    parser.add_argument("--numbers", type=count, default=32)
    parser.add_argument("--rate", type=float, default=1_000.0, help="limit of each number, messages a second")
    parser.add_argument("--messages", type=count, default=200_000, help="that the engine sends")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--processes", type=count, default=1, help="of the engine")
    parser.add_argument("--events", action="store_true", help="three status events a message for the engine")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="part of a name; repeat for more"
    )
    parser.add_argument("--json", action="store_true", help="print each run as a line of JSON first")
    got = parser.parse_args()
    names = (ENGINE, GUARDED, *BASELINES)
    for part in got.only:
        if not any(part in name for name in names):
            parser.error(f"--only {part}: choose from {', '.join(names)}")
    if got.rate <= 0 or got.latency_ms < 0:
        parser.error("--rate must be above 0, --latency-ms 0 or more")
    load = Load(
        numbers=got.numbers,
        rate_per_s=got.rate,
        latency_ms=got.latency_ms,
        processes=got.processes,
        messages=got.messages,
        events=got.events,
        limited=False,
        timed=False,
    )
    return Options(got.count or got.repeats, load, tuple(got.only), got.json)


def measurements(testbed: Testbed, options: Options) -> Iterator[tuple[str, Callable[[], Run]]]:
    """Yield the senders that were asked for, by name."""
    if options.wants(ENGINE):
        yield ENGINE, partial(run_engine, testbed, options.load)
    if options.wants(GUARDED):
        yield GUARDED, partial(run_engine, testbed, replace(options.load, guards=True))
    for name in filter(options.wants, BASELINES):
        load = replace(options.load, messages=BASELINES[name].messages, events=False)
        yield name, partial(run_baseline, testbed, load, name)


def as_json(name: str, run: Run) -> str:
    figures = {"sender": name, "per_s": round(run.per_s, 1), "cpu_us": round(run.cpu_us, 2)}
    return json.dumps(
        {**figures, **{k: v for k, v in asdict(run).items() if k not in ("by_second", "histogram")}}
    )


def print_table(runs: list[dict[str, Run]]) -> None:
    """Print the medians. Ratios are taken within each repeat: engine's rate ÷ rate, CPU ÷ engine's CPU."""
    print(f"median of {len(runs)}; in brackets the range; × is the engine against this sender")
    print(
        f"{'':46}{'per second':>12}{'':21}{'CPU each':>9}{'× by rate':>11}{'× by CPU':>10}{'emulator':>10}"
        f"{'Postgres':>10}"
    )
    for name in runs[0]:
        rates = [run[name].per_s for run in runs]
        cpu_us = statistics.median(run[name].cpu_us for run in runs)
        title = BASELINES[name].title if name in BASELINES else ENGINES[name]
        spread = f"({min(rates):,.0f} – {max(rates):,.0f})"
        service_us = statistics.median(run[name].service_us or 0.0 for run in runs)
        database_us = statistics.median(run[name].database_us or 0.0 for run in runs)
        print(
            f"{title:46}{statistics.median(rates):>12,.0f} {spread:<20}"
            f"{cpu_us:>7.1f} µs{_ratios(runs, name)}{service_us:>7.1f} µs{database_us:>7.1f} µs"
        )
    for run in (run[ENGINE] for run in runs if ENGINE in run):
        if run.events is not None:
            events, cpu_us = run.events, run.events.cpu_s / run.events.applied * 1e6
            print(
                f"{events.applied:,} events applied, the last {events.late_s:.1f} s after the last message;"
                f" the receiver used {cpu_us:.1f} µs an event"
            )


def _ratios(runs: list[dict[str, Run]], name: str) -> str:
    if ENGINE not in runs[0]:
        return f"{'':21}"
    by_rate = statistics.median(run[ENGINE].per_s / run[name].per_s for run in runs)
    by_cpu = statistics.median(run[name].cpu_us / run[ENGINE].cpu_us for run in runs)
    return f"{by_rate:>9.2f} ×{by_cpu:>8.2f} ×"


def main() -> None:
    options = parsed()
    print_conditions(options.load.processes)
    move_to_service_core()
    runs: list[dict[str, Run]] = []
    with postgres() as database:
        for _ in range(options.repeats):
            runs.append({})
            for name, measure in measurements(Testbed(database), options):
                runs[-1][name] = measure()
                if options.as_json:
                    print(as_json(name, runs[-1][name]), flush=True)
    print_table(runs)


if __name__ == "__main__":
    run_script(main)
