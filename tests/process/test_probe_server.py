"""Metrics and readiness on a port of their own: what is answered, and what happens if the port is taken."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector
from structlog.testing import capture_logs

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process import probe_server
from drumbeat.engine.process.probe_server import serving
from drumbeat.engine.process.probes import Exposition, Probes, Problem
from drumbeat.engine.process.settings import MetricsAddress
from tests.kit.waiting import until

HOST = "127.0.0.1"


class Answer(Collector):
    """One metric; `value` None: it cannot be read."""

    value: float | None = None

    def collect(self) -> Iterable[Metric]:
        assert self.value is not None
        return [GaugeMetricFamily("answer", "To everything.", self.value)]


@asynccontextmanager
async def listening(
    answer: Answer, problems: list[Problem], port: int = 0
) -> AsyncIterator[list[dict[str, object]]]:
    """A server, and the events that it logs. The value of the metric comes with the refresh."""

    async def refresh() -> None:
        if answer.value is not None:
            answer.value += 1

    probes = Probes(Exposition([answer], refresh), lambda: problems)
    with capture_logs() as logs:
        async with serving(MetricsAddress(HOST, port), probes):
            yield logs


def port_of(logs: list[dict[str, object]]) -> int:
    [port] = [line["port"] for line in logs if line["event"] == "metrics_served"]
    assert isinstance(port, int)
    return port


async def get(port: int, path: str, method: str = "GET") -> tuple[int, str, bytes]:
    """Status, content type and body."""
    reader, writer = await asyncio.open_connection(HOST, port)
    writer.write(f"{method} {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    async with asyncio.timeout(30):
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    [kind] = [line for line in head.decode().split("\r\n") if line.startswith("content-type: ")]
    return int(head.split()[1]), kind.removeprefix("content-type: "), body


async def test_what_is_answered() -> None:
    answer, problems = Answer(), list[Problem]()
    answer.value = 41
    async with listening(answer, problems) as logs:
        port = port_of(logs)
        status, kind, body = await get(port, "/metrics?name=x")
        assert (status, kind.split(";")[0]) == (200, "text/plain")
        assert b'\nanswer{installation="drumbeat"} 42.0\n' in body, "refreshed before it was read"
        assert b'\nprocess_cpu_seconds_total{installation="drumbeat"} ' in body
        assert await get(port, "/livez") == (200, "application/json", b'{"live":true}\n')
        assert await get(port, "/readyz") == (200, "application/json", b'{"ready":true,"reasons":[]}\n')
        assert (await get(port, "/"))[0] == 404
        assert (await get(port, "/metrics", "POST"))[0] == 405


async def test_who_is_not_ready_says_why() -> None:
    problems = [Problem("database_away", "the database does not answer"), Problem("starting", "soon")]
    async with listening(Answer(), problems) as logs:
        status, _, body = await get(port_of(logs), "/readyz")
        assert status == 503
        assert json.loads(body) == {
            "ready": False,
            "reasons": [
                {"code": "database_away", "detail": "the database does not answer"},
                {"code": "starting", "detail": "soon"},
            ],
        }
        assert (await get(port_of(logs), "/livez"))[0] == 200


async def test_a_metric_that_cannot_be_read_is_logged_and_ends_nothing() -> None:
    async with listening(answer := Answer(), []) as logs:
        port = port_of(logs)
        assert (await get(port, "/metrics"))[0] == 500
        assert "metrics_not_read" in [line["event"] for line in logs]
        answer.value = 41
        assert (await get(port, "/metrics"))[0] == 200


async def test_a_taken_port_is_served_as_soon_as_it_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_server, "RETRY_S", 0.01)
    with socket.create_server((HOST, 0)) as other:
        port = other.getsockname()[1]
        async with listening(Answer(), [], port) as logs:
            assert [line["event"] for line in logs] == ["metrics_not_served"]
            other.close()
            await until(lambda: "metrics_served" in [line["event"] for line in logs])
            assert (await get(port, "/livez"))[0] == 200
        with pytest.raises(ConnectionRefusedError):
            await get(port, "/livez")


@pytest.mark.parametrize("host", ["192.0.2.1", "no.such.host.invalid"])
async def test_an_address_of_another_machine_is_refused(host: str) -> None:
    probes = Probes(Exposition([], lambda: asyncio.sleep(0)), list)
    with pytest.raises(ConfigurationError, match="is not an address of this machine"):
        async with serving(MetricsAddress(host, 0), probes):
            pass
