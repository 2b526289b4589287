"""How many messages a second does the engine send, durable and with every guarantee, on one core?

    python -m benchmarks.throughput [REPEATS] [--repeats 5] [--numbers 32] [--rate 1000] [--messages 200000]
        [--latency-ms 0] [--processes 1] [--events] [--only engine] [--json]

Yardsticks of the same run, against the same emulator: a plain aiohttp session loop that stores nothing;
what a user would write first (a task a message behind a semaphore, session, one INSERT each); the plain loop
over httpx; lanes alone; and a raw Protocol that takes any bytes for a reply, the floor. All run on uvloop.
Status events are off; with `--events` the engine sends while three a message come back to a receiver on the
service's core, are stored and folded, and the yardsticks are measured without.

What the profile says (perf for the whole, py-spy for its parts): three tenths of a message's CPU are the
kernel's, two system calls; six tenths the interpreter's, for 76 calls of which 30 are functions of Python: a
sixth pages, guards, payloads and the mark, a tenth storing outcomes, a tenth reading the reply and making a
fact of it, a tenth opening connections. `benchmarks/README.md` has the figures.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial

import httpx

from benchmarks.cost import print_conditions
from benchmarks.ending import count, parser_of, perform
from campaigns.bench.contestants import Measured, Task, loop_of
from campaigns.bench.database import postgres
from campaigns.bench.machine import service_core
from campaigns.bench.rounds import Load, Place, Run, run_engine, run_yardstick
from campaigns.bench.service import own_service

ENGINE = "engine, durable"
OURS = "campaigns.bench.contestants"
# By name: where it stands, and how many messages keep it busy for seconds; cores change speed within one.
YARDSTICKS = {
    "plain session loop": (f"{OURS}:session_loop", 30_000),
    "naive script": (f"{OURS}:naive_script", 15_000),
    "httpx loop": ("benchmarks.throughput:httpx_loop", 1_500),
    "lanes alone": (f"{OURS}:lanes_alone", 100_000),
    "raw Protocol, the floor": (f"{OURS}:floor", 100_000),
}


async def httpx_loop(task: Task) -> Measured:
    async with httpx.AsyncClient(headers=task.headers, timeout=60) as client:

        async def send(number: str, body: dict[str, object]) -> bool:
            reply = await client.post(task.address(number), json=body)
            return "messages" in reply.json()

        return await loop_of(send, task)


@dataclass(frozen=True, slots=True)
class Asked:
    repeats: int
    load: Load
    only: tuple[str, ...]
    as_json: bool


def asked() -> Asked:
    parser = parser_of(__doc__)
    parser.add_argument("count", nargs="?", type=count, metavar="REPEATS", help="as --repeats")
    parser.add_argument("--repeats", type=count, default=5, help="the median of so many is printed")
    parser.add_argument("--numbers", type=count, default=32)
    parser.add_argument("--rate", type=float, default=1_000.0, help="limit of each number a second")
    parser.add_argument("--messages", type=count, default=200_000, help="that the engine sends")
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--processes", type=count, default=1, help="of the engine")
    parser.add_argument("--events", action="store_true", help="three status events a message for the engine")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="part of a name; repeat for more"
    )
    parser.add_argument("--json", action="store_true", help="each run as a line of JSON, before the table")
    got = parser.parse_args()
    for word in got.only:
        if not any(word in name for name in (ENGINE, *YARDSTICKS)):
            parser.error(f"--only {word}: there is {'; '.join((ENGINE, *YARDSTICKS))}")
    if got.rate <= 0 or got.latency_ms < 0:
        parser.error("--rate is above 0, --latency-ms 0 or more")
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
    return Asked(got.count or got.repeats, load, tuple(got.only), got.json)


def contestants(place: Place, wanted: Asked) -> Iterator[tuple[str, Callable[[], Run]]]:
    """Those that were asked for, each ready to be measured."""
    if not wanted.only or any(word in ENGINE for word in wanted.only):
        yield ENGINE, partial(run_engine, place, wanted.load)
    for name, (contestant, messages) in YARDSTICKS.items():
        if not wanted.only or any(word in name for word in wanted.only):
            load = replace(wanted.load, messages=messages, events=False)
            yield name, partial(run_yardstick, place, load, contestant)


def as_json(name: str, run: Run) -> str:
    figures = {"contestant": name, "per_s": round(run.per_s, 1), "cpu_us": round(run.cpu_us, 2)}
    return json.dumps(
        {**figures, **{k: v for k, v in asdict(run).items() if k not in ("by_second", "histogram")}}
    )


def report(runs: list[dict[str, Run]]) -> None:
    print(f"median of {len(runs)}; in brackets the range")
    print(
        f"{'':26}{'per second':>12}{'':21}{'CPU each':>9}{'engine is':>11}{'by CPU':>10}{'service':>10}"
        f"{'Postgres':>10}"
    )
    for name in runs[0]:
        rates = [run[name].per_s for run in runs]
        cpu_us = statistics.median(run[name].cpu_us for run in runs)
        spread = f"({min(rates):,.0f} – {max(rates):,.0f})"
        service_us = statistics.median(run[name].service_us or 0.0 for run in runs)
        database_us = statistics.median(run[name].database_us or 0.0 for run in runs)
        print(
            f"{name:26}{statistics.median(rates):>12,.0f} {spread:<20}{cpu_us:>7.1f} µs"
            f"{_ratios(runs, name)}{service_us:>7.1f} µs{database_us:>7.1f} µs"
        )
    for run in (run[ENGINE] for run in runs if ENGINE in run):
        if run.events is not None:
            events, cpu_us = run.events, run.events.cpu_s / run.events.folded * 1e6
            print(
                f"{events.folded:,} events folded, the last {events.late_s:.1f} s after the last message;"
                f" receiver and folder {cpu_us:.1f} µs an event"
            )


def _ratios(runs: list[dict[str, Run]], name: str) -> str:
    if ENGINE not in runs[0]:
        return ""
    times = statistics.median(run[ENGINE].per_s / run[name].per_s for run in runs)
    by_cpu = statistics.median(run[name].cpu_us / run[ENGINE].cpu_us for run in runs)
    return f"{times:>9.2f} ×{by_cpu:>8.2f} ×"


def main() -> None:
    wanted = asked()
    print_conditions(wanted.load.processes)
    service_core()
    runs: list[dict[str, Run]] = []
    with ExitStack() as stack:
        place = Place(stack.enter_context(postgres()), own_service)
        for _ in range(wanted.repeats):
            runs.append({})
            for name, measure in contestants(place, wanted):
                runs[-1][name] = measure()
                if wanted.as_json:
                    print(as_json(name, runs[-1][name]), flush=True)
    report(runs)


if __name__ == "__main__":
    perform(main)
