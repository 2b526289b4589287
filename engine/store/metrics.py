"""The metrics of the database: its durations, and what it says of the whole installation.

Every worker, receiver and console shows the installation's metrics, with the same values: take the maximum
over processes. While the database does not answer they are missing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import asyncpg
from prometheus_client.core import GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from drumbeat.engine.core.histogram import Histogram
from drumbeat.engine.core.limits.quota import QuotaStanding
from drumbeat.engine.core.states import WAITS, CampaignState, RecipientState
from drumbeat.engine.store.overview import CAMPAIGNS_MAX, UNMATCHED_MAX, Overview, OverviewReader
from drumbeat.engine.store.statement_times import BOUNDS_S, StatementTimes


class DatabaseMetrics(Collector):
    """The metrics of the database. `is_up` returns whether it answers this process."""

    def __init__(self, times: StatementTimes, reader: OverviewReader, is_up: Callable[[], bool]) -> None:
        self._times = times
        self._reader = reader
        self._is_up = is_up

    def collect(self) -> Iterable[Metric]:
        yield GaugeMetricFamily(
            "drumbeat_database_up", "1 while the database answers this process.", int(self._is_up())
        )
        durations = HistogramMetricFamily(
            "drumbeat_database_duration_seconds",
            "Statements, from the request to the answer. The label is their file in engine/store/sql/queries,"
            " such as claims, facts (outcomes), apply_statuses, inbox.",
            labels=["statements"],
        )
        for group in sorted(self._times.by_group):
            add_histogram(durations, [group], self._times.by_group[group], BOUNDS_S)
        yield durations
        if self._reader.latest is not None:
            yield from _installation(self._reader.latest)


def add_histogram(
    family: HistogramMetricFamily,
    labels: Sequence[str],
    histogram: Histogram,
    bounds_s: Sequence[float],
    unit: float = 1.0,
) -> None:
    """Add the counts of a histogram. `unit` is how many of its units make a second."""
    *counts, total = histogram.cumulative()
    buckets = [(str(bound_s), count) for bound_s, count in zip(bounds_s, counts, strict=True)]
    family.add_metric(labels, [*buckets, ("+Inf", total)], histogram.total / unit)


def gauges(name: str, help_text: str, *labels: str) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"drumbeat_{name}", help_text, labels=labels)


def _installation(overview: Overview) -> Iterable[Metric]:
    yield _campaigns(overview.campaigns)
    yield from _current_campaigns(overview.current_campaigns)
    yield from _numbers(overview.numbers)
    yield from _quotas(overview.quotas)
    inbox = overview.inbox
    yield GaugeMetricFamily(
        "drumbeat_inbox_events", "Stored status events that are not applied yet.", inbox["waiting"]
    )
    yield GaugeMetricFamily(
        "drumbeat_inbox_oldest_seconds", "Age of the oldest of them. 0 if there is none.", inbox["oldest_s"]
    )
    yield GaugeMetricFamily(
        "drumbeat_inbox_unmatched_events",
        "Status events that match no attempt yet; they wait for up to 8 days. "
        f"Counted up to {UNMATCHED_MAX:,}.",
        inbox["unmatched"],
    )


def _campaigns(rows: Sequence[asyncpg.Record]) -> Metric:
    family = gauges("campaigns", "Campaigns by state.", "state")
    counts = {row["state"]: row["campaigns"] for row in rows}
    for state in CampaignState:
        family.add_metric([state], counts.get(state, 0))
    return family


def _current_campaigns(rows: Sequence[asyncpg.Record]) -> Iterable[Metric]:
    recipients = gauges(
        "campaign_recipients",
        "Recipients of current campaigns: those that have not ended, or ended in the last 15 minutes; "
        f"the newest {CAMPAIGNS_MAX}.",
        "campaign",
        "state",
    )
    paused = gauges("campaign_paused", "1 for each paused campaign.", "campaign", "reason_code")
    waiting = gauges(
        "campaign_waiting",
        "1 for each running campaign that does not send now, such as window_closed.",
        "campaign",
        "reason_code",
    )
    for row in rows:
        for state in RecipientState:
            recipients.add_metric([row["name"], state], row[state])
        if row["state"] == CampaignState.PAUSED:
            paused.add_metric([row["name"], row["reason_code"] or "none"], 1)
        elif row["state"] == CampaignState.RUNNING and row["reason_code"] in WAITS:
            waiting.add_metric([row["name"], row["reason_code"]], 1)
    return recipients, paused, waiting


def _quotas(standings: Mapping[str, QuotaStanding]) -> Iterable[Metric]:
    limit = gauges(
        "quota_limit",
        "People whom the number may write to in 24 hours. No value without a messaging limit.",
        "number",
    )
    used = gauges("quota_used", "People who count in it now.", "number")
    for number, standing in standings.items():
        limit.add_metric([number], standing.limit)
        used.add_metric([number], standing.used)
    return limit, used


def _numbers(rows: Sequence[asyncpg.Record]) -> Iterable[Metric]:
    owned = gauges("number_owned", "1 if a living process owns the number.", "number")
    blocked = gauges(
        "number_blocked",
        "1 for each number that is stopped (until a person resumes it) or suspended (until a time).",
        "number",
        "reason_code",
    )
    in_doubt = gauges("recipients_in_doubt", "Recipients in doubt.", "number")
    event_age = gauges(
        "event_age_seconds",
        "Time since the last event of the number. No value before its first event.",
        "number",
    )
    for row in rows:
        number = [row["phone_number_id"]]
        owned.add_metric(number, int(row["owned"]))
        in_doubt.add_metric(number, row["in_doubt"])
        if row["stopped"] or row["suspended"]:
            blocked.add_metric([*number, "stopped" if row["stopped"] else "suspended"], 1)
        if row["event_age_s"] is not None:
            event_age.add_metric(number, row["event_age_s"])
    return owned, blocked, in_doubt, event_age
