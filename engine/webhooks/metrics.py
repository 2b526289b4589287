"""The counts of the receiver and the reconciler, exposed as metrics."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector


@dataclass(slots=True, eq=False)  # a registry holds it by identity
class Metrics(Collector):
    """The counts as plain numbers, which cost the receiver nothing. They become metrics when somebody asks.

    `answers` counts those of the callback, by HTTP status, and `refusals` by reason. `events` counts by kind.
    `applied` counts status events that were matched, returned or dropped.
    """

    answers: Counter[int] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    applied: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)
    untied_opt_outs: int = 0
    commits: int = 0
    waiting: int = 0
    connections: int = 0
    refused_connections: int = 0

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics for the registry."""
        yield _family("callback_answers", "Answers of the callback by HTTP status.", "status", self.answers)
        yield _family(
            "callback_refusals",
            "Requests to the callback that were refused, by reason.",
            "reason",
            self.refusals,
        )
        yield _family(
            "events",
            "Events: status, message, account, opt_out, unreadable are stored; other_account, unknown_number "
            "are not ours.",
            "kind",
            self.events,
        )
        yield _family(
            "events_applied",
            "Status events: matched, returned (no attempt known yet), dropped.",
            "result",
            self.applied,
        )
        yield CounterMetricFamily(
            "drumbeat_opt_outs_untied",
            "Opt-outs that name no phone that is known: they are kept, and suppress nobody.",
            self.untied_opt_outs,
        )
        yield CounterMetricFamily("drumbeat_event_commits", "Commits that stored events.", self.commits)
        yield GaugeMetricFamily(
            "drumbeat_events_uncommitted", "Events received and not yet committed.", self.waiting
        )
        yield GaugeMetricFamily(
            "drumbeat_callback_connections", "Open connections of the receiver.", self.connections
        )
        yield CounterMetricFamily(
            "drumbeat_callback_connections_refused",
            "Connections refused, because too many were open.",
            self.refused_connections,
        )


def _family(what: str, help_text: str, label: str, counts: Mapping[Any, int]) -> CounterMetricFamily:
    family = CounterMetricFamily(f"drumbeat_{what}", help_text, labels=[label])
    for key in sorted(counts):
        family.add_metric([str(key)], counts[key])
    return family
