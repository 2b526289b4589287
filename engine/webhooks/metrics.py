"""Counts of the receiver and the reconciler, exposed in the Prometheus text format."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


@dataclass(slots=True, eq=False)  # a registry holds it by identity
class Metrics(Collector):
    """Plain counts, which cost the receiver nothing; they become metrics when somebody asks.

    `answers`: by HTTP status. `events`: by kind. `applied`: status events matched, returned or dropped.
    """

    answers: Counter[int] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    applied: Counter[str] = field(default_factory=Counter)
    commits: int = 0
    waiting: int = 0
    connections: int = 0
    refused_connections: int = 0

    def text(self) -> str:
        """The exposition format."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(self)
        return generate_latest(registry).decode()

    def collect(self) -> Iterable[Metric]:
        """For the registry."""
        yield _family("answers", "Answers by HTTP status.", "status", self.answers)
        yield _family("events", "Stored events by kind.", "kind", self.events)
        yield _family("applied_events", "Status events by result.", "result", self.applied)
        yield CounterMetricFamily(_name("commits"), "Commits of events.", self.commits)
        yield CounterMetricFamily(
            _name("refused_connections"), "Connections refused beyond the limit.", self.refused_connections
        )
        yield GaugeMetricFamily(
            _name("waiting_events"), "Events received and not yet committed.", self.waiting
        )
        yield GaugeMetricFamily(_name("connections"), "Open connections.", self.connections)


def _name(what: str) -> str:
    return f"drumbeat_webhook_{what}"


def _family(what: str, help_text: str, label: str, counts: Mapping[Any, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(_name(what), help_text, labels=[label])
    for key in sorted(counts):
        family.add_metric([str(key)], counts[key])
    return family
