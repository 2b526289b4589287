"""The count of open streams."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from drumbeat.campaigns.console.web.problems import Refused

STREAMS_MAX = 500  # each costs a socket and some memory


@dataclass(slots=True, eq=False)  # a registry holds it by identity
class OpenStreams(Collector):
    """The count of the streams that a console has open."""

    count: int = 0

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a stream while the block runs. Refused if there are too many."""
        if self.count >= STREAMS_MAX:
            raise Refused(503, "too_many_streams", wait_s=60)
        self.count += 1
        try:
            yield
        finally:
            self.count -= 1

    def collect(self) -> Iterable[Metric]:
        """Yield the metrics for the registry."""
        yield GaugeMetricFamily(
            "drumbeat_console_streams", "Open streams: pages that somebody looks at.", self.count
        )
