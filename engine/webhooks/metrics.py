"""Counts of the receiver and the reconciler, told as plain Prometheus text."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class Metrics:
    """`answers`: by HTTP status. `events`: by kind. `folds`: events matched, returned, dropped."""

    answers: Counter[int] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    folds: Counter[str] = field(default_factory=Counter)
    commits: int = 0
    waiting: int = 0
    connections: int = 0
    refused_connections: int = 0

    def text(self) -> str:
        """The exposition format: a line for its type before each name."""
        lines: list[str] = []
        _family(lines, "webhook_answers_total", "counter", "status", self.answers)
        _family(lines, "webhook_events_total", "counter", "kind", self.events)
        _family(lines, "webhook_folded_events_total", "counter", "result", self.folds)
        _single(lines, "webhook_commits_total", "counter", self.commits)
        _single(lines, "webhook_refused_connections_total", "counter", self.refused_connections)
        _single(lines, "webhook_waiting_events", "gauge", self.waiting)
        _single(lines, "webhook_connections", "gauge", self.connections)
        return "\n".join(lines) + "\n"


def _family(lines: list[str], name: str, kind: str, label: str, counts: Mapping[Any, int]) -> None:
    lines.append(f"# TYPE drumbeat_{name} {kind}")
    lines += [f'drumbeat_{name}{{{label}="{key}"}} {counts[key]}' for key in sorted(counts)]


def _single(lines: list[str], name: str, kind: str, value: int) -> None:
    lines += [f"# TYPE drumbeat_{name} {kind}", f"drumbeat_{name} {value}"]
