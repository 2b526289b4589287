"""The counts of the console's requests, exposed as metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from drumbeat.engine.core.histogram import Histogram
from drumbeat.engine.store.metrics import add_histogram

BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.15, 0.25, 0.5, 1.0, 5.0, 30.0)


class RequestMetrics(Collector):
    """The requests by method, route and status, and how long they took."""

    def __init__(self) -> None:
        self._answers: Counter[tuple[str, str, int]] = Counter()
        self._durations: dict[str, Histogram] = {}

    def answered(self, method: str, route: str, status: int, took_s: float | None) -> None:
        """Count a request. `took_s` None: it was a stream."""
        self._answers[method, route, status] += 1
        if took_s is not None:
            self._durations.setdefault(route, Histogram(BOUNDS_S)).observe([took_s])

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics for the registry."""
        answers = CounterMetricFamily(
            "drumbeat_console_requests",
            "Requests of pages and of the API. The route is a pattern such as /numbers/{number}; "
            "none for addresses that do not exist.",
            labels=["method", "route", "status"],
        )
        for (method, route, status), count in sorted(self._answers.items()):
            answers.add_metric([method, route, str(status)], count)
        durations = HistogramMetricFamily(
            "drumbeat_console_request_duration_seconds", "Requests, without streams.", labels=["route"]
        )
        for route, histogram in sorted(self._durations.items()):
            add_histogram(durations, [route], histogram, BOUNDS_S)
        return answers, durations
