"""The benchmark of metrics: what do they cost the engine, scraped once a second?

    python -m drumbeat.benchmarks.metrics [REPEATS] [--numbers 32] [--messages 200000]

The engine sends on one core, in turns without serving metrics and with metrics that are scraped once a second
from the other core. The ratios are taken within each repeat. The counting of durations is always on, so it is
in both. `benchmarks/README.md` has the figures.
"""

from __future__ import annotations

import socket
import statistics
import threading
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from drumbeat.benchmarks.harness.database import postgres
from drumbeat.benchmarks.harness.machine import move_to_service_core
from drumbeat.benchmarks.harness.processes import BenchmarkFailed
from drumbeat.benchmarks.harness.results import Load, Run
from drumbeat.benchmarks.harness.script import count, parser_of, print_conditions, run_script
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.benchmarks.senders.runs import run_engine

SCRAPE_PERIOD_S = 1.0


class Scraper:
    """A thread that scrapes once a second. `sizes`: the bytes of each answer."""

    def __init__(self, port: int) -> None:
        self.sizes: list[int] = []
        self._url = f"http://127.0.0.1:{port}/metrics"
        self._stop = threading.Event()

    @contextmanager
    def running(self) -> Iterator[None]:
        thread = threading.Thread(target=self._run)
        thread.start()
        try:
            yield
        finally:
            self._stop.set()
            thread.join()

    def _run(self) -> None:
        while not self._stop.wait(SCRAPE_PERIOD_S):
            try:
                with urllib.request.urlopen(self._url, timeout=10) as answer:
                    self.sizes.append(len(answer.read()))
            except OSError:
                continue  # the engine is not there yet, or no longer


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def run_scraped(testbed: Testbed, load: Load) -> Run:
    port = free_port()
    scraper = Scraper(port)
    with scraper.running():
        run = run_engine(testbed, replace(load, metrics_port=port))
    if not scraper.sizes:
        raise BenchmarkFailed("nothing was scraped: give more --messages")
    print(f"{len(scraper.sizes)} scrapes, {max(scraper.sizes) / 1024:.0f} KiB the largest", flush=True)
    return run


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("repeats", nargs="?", type=count, default=5, metavar="REPEATS")
    parser.add_argument("--numbers", type=count, default=32)
    parser.add_argument("--messages", type=count, default=200_000)
    options = parser.parse_args()
    load = Load(options.numbers, 1_000.0, messages=options.messages, limited=False, timed=False)
    print_conditions()
    move_to_service_core()
    without: list[Run] = []
    scraped: list[Run] = []
    with postgres() as database:
        testbed = Testbed(database)
        for _ in range(options.repeats):
            without.append(run_engine(testbed, load))
            scraped.append(run_scraped(testbed, load))
    for title, runs in (("without", without), ("scraped", scraped)):
        per_s = statistics.median(run.per_s for run in runs)
        cpu_us = statistics.median(run.cpu_us for run in runs)
        print(f"{title}: {per_s:,.0f} messages/s, {cpu_us:.1f} µs of CPU a message (medians of {len(runs)})")
    pairs = list(zip(without, scraped, strict=True))
    by_rate = statistics.median(after.per_s / before.per_s for before, after in pairs)
    by_cpu = statistics.median(after.cpu_us / before.cpu_us for before, after in pairs)
    print(f"scraped ÷ without: {by_rate:.3f} by rate, {by_cpu:.3f} by CPU")


if __name__ == "__main__":
    run_script(main)
