"""The metrics of a sending process, read from the parts of its flow when somebody asks.

The flow counts nothing for them message by message, except how long each request took.
"""

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from drumbeat.engine.clock import SECOND_NS, monotonic_ns
from drumbeat.engine.core.disk_space import MIB
from drumbeat.engine.process.disk_space import DiskSpaceGuard
from drumbeat.engine.process.probe_server import serving
from drumbeat.engine.process.probes import Exposition, Probes, Problem
from drumbeat.engine.process.settings import MetricsAddress
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.number_sender import NumberSender
from drumbeat.engine.sending.reply_feedback import DURATION_BOUNDS_S
from drumbeat.engine.sending.results_writer import HIGH_MARK
from drumbeat.engine.sending.worker import Worker
from drumbeat.engine.store.metrics import DatabaseMetrics, add_histogram, gauges
from drumbeat.engine.store.overview import OverviewReader
from drumbeat.engine.store.statement_times import STATEMENT_TIMES


@asynccontextmanager
async def serving_metrics(
    address: MetricsAddress, context: FlowContext, worker: Worker, disk_space: DiskSpaceGuard
) -> AsyncIterator[None]:
    """Serve metrics and readiness of a sending process while the context is open. Raises as `serving`."""
    reader = OverviewReader(context.pool)
    collectors = (
        SenderMetrics(context, worker.senders, disk_space),
        DatabaseMetrics(STATEMENT_TIMES, reader, lambda: not context.database_away.is_reported),
    )
    probes = Probes(
        Exposition(collectors, reader.refresh, address.installation),
        lambda: _problems(context, worker, disk_space),
    )
    async with serving(address, probes):
        yield


class SenderMetrics(Collector):
    """The metrics of a sender. `senders` are the numbers that the process owns, at any time."""

    def __init__(
        self, context: FlowContext, senders: Mapping[str, NumberSender], disk_space: DiskSpaceGuard
    ) -> None:
        self._context = context
        self._senders = senders
        self._disk_space = disk_space

    def collect(self) -> Iterable[Metric]:
        yield _messages(self._context)
        yield from _numbers(list(self._senders.values()), monotonic_ns())
        yield from _process(self._context, len(self._senders))
        yield from _disk(self._disk_space)


def _messages(context: FlowContext) -> Metric:
    family = CounterMetricFamily(
        "drumbeat_messages",
        "Claimed messages by what became of them: accepted, throttled, deferred (tried again later), failed, "
        "in_doubt, not_sent (claimed, but not written; deferred).",
        labels=["number", "outcome"],
    )
    for (number, outcome), count in sorted(context.results_writer.attempt_statistics.outcomes.items()):
        family.add_metric([number, outcome], count)
    return family


def _numbers(senders: Sequence[NumberSender], now_ns: int) -> Iterable[Metric]:
    requests = CounterMetricFamily(
        "drumbeat_requests", "Requests written. Its rate() is the achieved rate.", labels=["number"]
    )
    limit = gauges("rate_limit", "Messages a second that the number may send.", "number")
    permitted = gauges(
        "rate_permitted",
        "Messages a second that the pace permits now: fewer than the limit after throttles, 0 while the "
        "number rests or the service is away.",
        "number",
    )
    lag = gauges(
        "pacer_lag_seconds", "How long the next claimed message could have been written already.", "number"
    )
    in_flight = gauges("in_flight_requests", "Requests without a reply.", "number")
    ahead = gauges("claim_ahead_messages", "Messages that are claimed and not written.", "number")
    durations = HistogramMetricFamily(
        "drumbeat_attempt_duration_seconds",
        "Requests, from the write to the reply. A request without a reply is not counted.",
        labels=["number"],
    )
    for sender in senders:
        number, dispatcher, bucket = [sender.lease.phone_number_id], sender.dispatcher, sender.pace.bucket
        requests.add_metric(number, bucket.writes)
        limit.add_metric(number, bucket.limit_per_s)
        permitted.add_metric(number, sender.permitted_per_s())
        lag.add_metric(number, dispatcher.late_ns(now_ns) / SECOND_NS)
        in_flight.add_metric(number, dispatcher.queue.taken - dispatcher.queue.connecting)
        ahead.add_metric(number, dispatcher.queue.unwritten)
        add_histogram(durations, number, dispatcher.durations, DURATION_BOUNDS_S, SECOND_NS)
    return requests, limit, permitted, lag, in_flight, ahead, durations


def _process(context: FlowContext, numbers_owned: int) -> Iterable[Metric]:
    writer = context.results_writer
    gauge = GaugeMetricFamily
    yield gauge("drumbeat_numbers_owned", "Numbers that this process owns.", numbers_owned)
    waiting = f"Outcomes that are not stored yet. At {HIGH_MARK:,} the process claims nothing more."
    yield gauge("drumbeat_results_waiting", waiting, writer.pending)
    yield gauge("drumbeat_results_oldest_seconds", "How long the oldest outcome has waited.", writer.oldest_s)
    yield gauge(
        "drumbeat_circuit_breaker_open",
        "1 while the service is away: one message at a time probes it.",
        int(context.breaker.tripped),
    )


def _disk(disk_space: DiskSpaceGuard) -> Iterable[Metric]:
    free = gauges(
        "disk_free_bytes", "Free space of the embedded database's disk. No value for a database of your own."
    )
    needed = gauges("disk_needed_bytes", "With less free space nothing is sent.")
    if disk_space.disk is not None:
        free.add_metric([], disk_space.free_bytes)
        needed.add_metric([], disk_space.disk.least_free_mib * MIB)
    return free, needed


def _problems(context: FlowContext, worker: Worker, disk_space: DiskSpaceGuard) -> list[Problem]:
    """Return why this process cannot send.

    A service that is away is not listed: another process would not reach it either, and an orchestrator could
    only make it worse.
    """
    problems = []
    if not worker.has_started:
        problems.append(Problem("starting", "its numbers are not taken yet"))
    if context.database_away.is_reported:
        problems.append(Problem("database_away", "the database does not answer"))
    if context.results_writer.problem:
        problems.append(Problem("results_not_stored", context.results_writer.problem))
    if shortage := disk_space.blocked_reason():
        problems.append(Problem("disk_full", shortage))
    return problems
