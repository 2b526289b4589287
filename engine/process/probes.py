"""The answers to orchestrators and Prometheus about a process: `/livez`, `/readyz` and `/metrics`.

The receiver answers them beside its callback, a sending process on a port of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import NamedTuple

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from drumbeat.engine.process.answers import Answer, json_answer
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.settings import INSTALLATION

LIVEZ, READYZ, METRICS = b"/livez", b"/readyz", b"/metrics"

PATHS = (LIVEZ, READYZ, METRICS)

log = get_logger(__name__)


class Problem(NamedTuple):
    """A reason why a process is not ready: a code for programs, and words."""

    code: str
    detail: str


class Exposition:
    """The metrics of a process in the Prometheus text format, read when somebody asks.

    `refresh` reads what the collectors cannot read themselves: a collector cannot wait for the database.
    `installation` becomes a label of every metric, so that one Prometheus tells several installations apart.
    """

    def __init__(
        self,
        collectors: Iterable[Collector],
        refresh: Callable[[], Awaitable[None]],
        installation: str = INSTALLATION,
    ) -> None:
        self._refresh = refresh
        self._registry = CollectorRegistry(auto_describe=False)
        process = ProcessCollector(registry=None)  # CPU, memory, file descriptors
        for collector in (process, *collectors):
            self._registry.register(_OfInstallation(collector, installation))

    async def text(self) -> bytes:
        await self._refresh()
        return generate_latest(self._registry)


class _OfInstallation(Collector):
    """A collector whose samples have the label `installation`."""

    def __init__(self, collector: Collector, installation: str) -> None:
        self._collector = collector
        self._label = {"installation": installation}

    def collect(self) -> Iterable[Metric]:
        for family in self._collector.collect():
            family.samples = [
                sample._replace(labels={**self._label, **sample.labels}) for sample in family.samples
            ]
            yield family


class Probes:
    """The answers to the three paths of one process. `find_problems` returns why it is not ready now."""

    def __init__(self, exposition: Exposition, find_problems: Callable[[], Sequence[Problem]]) -> None:
        self._exposition = exposition
        self._find_problems = find_problems
        self._tasks: set[asyncio.Task[None]] = set()

    def handle(self, method: bytes, path: bytes, fill: Callable[[Answer], None]) -> None:
        """Call `fill` with the answer: now, or for `/metrics` as soon as the metrics are read. Whoever writes
        the answer leaves the body of a HEAD out.
        """
        if path not in PATHS:
            fill(Answer(404))
        elif method not in (b"GET", b"HEAD"):
            fill(Answer(405))
        elif path == METRICS:
            task = asyncio.create_task(self._fill_metrics(fill))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        else:
            fill(json_answer(200, {"live": True}) if path == LIVEZ else self._readiness())

    def _readiness(self) -> Answer:
        reasons = [problem._asdict() for problem in self._find_problems()]
        return json_answer(503 if reasons else 200, {"ready": not reasons, "reasons": reasons})

    async def _fill_metrics(self, fill: Callable[[Answer], None]) -> None:
        try:
            answer = Answer(200, await self._exposition.text(), CONTENT_TYPE_LATEST)
        except Exception:  # a metric that cannot be read must not end the process that it describes
            log.exception("metrics_not_read")
            answer = Answer(500)
        fill(answer)
