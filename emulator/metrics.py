"""The counts of the service, in the Prometheus text format."""

from collections.abc import Iterable

from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.wire.request_reply import Reply, Request


class MetricsEndpoint:
    """The endpoint `/metrics`. A reset of the service begins its counters anew."""

    def __init__(self, service: MessagingService) -> None:
        self._registry = CollectorRegistry(auto_describe=False)
        ProcessCollector(registry=self._registry)
        self._registry.register(ServiceMetrics(service))

    def show(self, _request: Request) -> Reply:
        return Reply(200, generate_latest(self._registry), CONTENT_TYPE_LATEST)


class ServiceMetrics(Collector):
    """The metrics of the service. Its attributes are read anew each time, because a reset replaces them."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def collect(self) -> Iterable[Metric]:
        yield from self._numbers()
        yield from self._callbacks()

    def _numbers(self) -> Iterable[Metric]:
        accepted = CounterMetricFamily("drumbeat_emulator_accepted", "Accepted messages.", labels=["number"])
        refused = CounterMetricFamily(
            "drumbeat_emulator_refused", "Refused sends by error code.", labels=["number", "code"]
        )
        limit = GaugeMetricFamily(
            "drumbeat_emulator_rate_limit", "Messages a second that the number accepts.", labels=["number"]
        )
        for number in self._service.numbers.values():
            accepted.add_metric([number.id], number.accepted)
            limit.add_metric([number.id], number.window.rate_per_s)
            for code, count in sorted(number.errors.items()):
                refused.add_metric([number.id, str(code)], count)
        return accepted, refused, limit

    def _callbacks(self) -> Iterable[Metric]:
        summary = self._service.events.summary()
        posts = CounterMetricFamily(
            "drumbeat_emulator_callbacks", "POSTs to callbacks: delivered, failed.", labels=["result"]
        )
        posts.add_metric(["delivered"], summary["posts"] - summary["failed_posts"])
        posts.add_metric(["failed"], summary["failed_posts"])
        yield posts
        yield CounterMetricFamily(
            "drumbeat_emulator_events_delivered", "Events that callbacks took.", summary["delivered"]
        )
        yield GaugeMetricFamily(
            "drumbeat_emulator_events_waiting", "Events that are not delivered yet.", summary["pending"]
        )
