"""A real Prometheus scrapes real processes: the alert for a stopped receiver fires, and ends when it is back."""

import json
import shutil
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from tests.acceptance.conftest import Scene, scene, status_delay
from tests.cli.processes import serving, until
from tests.deploy.test_monitoring import ALWAYS_FIRES, OBJECTIVES, PROMETHEUS, RULES
from tests.kit.ports import free_port
from tests.metrics_text import served_ports

__all__ = ["scene", "status_delay"]  # fixtures

BINARY = shutil.which("prometheus")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(BINARY is None, reason="needs Prometheus: apt-get install prometheus"),
]
# In the rules the receiver must be down for a minute, as the tests of promtool check. Here the wait is shorter, and the
# expression is that of the rules.
LONG, SHORT = "for: 1m", "for: 2s"


class Prometheus:
    """A running server."""

    def __init__(self, port: int) -> None:
        self._url = f"http://127.0.0.1:{port}"

    def is_ready(self) -> bool:
        try:
            return urllib.request.urlopen(f"{self._url}/-/ready", timeout=10).status == 200
        except OSError:
            return False

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self._url}/api/v1/{path}", timeout=10) as reply:
            return json.load(reply)["data"]

    def value(self, query: str) -> float | None:
        result = self.get(f"query?query={quote(query)}")["result"]
        return float(result[0]["value"][1]) if result else None

    def firing(self) -> set[str]:
        alerts = self.get("alerts")["alerts"]
        return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


@contextmanager
def prometheus(
    directory: Path, *, worker: int, receiver: int, console: int, emulator: int
) -> Iterator[Prometheus]:
    """Prometheus with our configuration; ports and intervals are those of the test."""
    assert BINARY is not None
    config = (PROMETHEUS / "local.yml").read_text("utf-8").replace("interval: 10s", "interval: 1s")
    ports = {"9090": worker, "8080": receiver, "8083": console, "8081": emulator}
    for usual, port in ports.items():
        assert f'["127.0.0.1:{usual}"]' in config, usual
        config = config.replace(f'["127.0.0.1:{usual}"]', f'["127.0.0.1:{port}"]')
    directory.mkdir()
    (directory / "prometheus.yml").write_text(config)
    (directory / "alerts.yaml").write_text(RULES.read_text("utf-8").replace(LONG, SHORT))
    (directory / "objectives.yaml").write_text(OBJECTIVES.read_text("utf-8"))
    port = free_port()
    words = [
        "--config.file=prometheus.yml",
        f"--web.listen-address=127.0.0.1:{port}",
        "--storage.tsdb.path=data",
    ]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen([BINARY, *words], cwd=directory, stdout=log, stderr=log)
    try:
        server = Prometheus(port)
        until(server.is_ready, "Prometheus is ready")
        yield server
    finally:
        process.terminate()
        process.wait(timeout=30)


def test_a_stopped_receiver_is_an_alert_until_it_is_back(scene: Scene, tmp_path: Path) -> None:
    receiver = free_port()
    log = tmp_path / "worker.log"
    words = ("webhooks", "serve", "--port", str(receiver))
    scene.create(300)
    scene.drumbeat.ok("campaign", "start", "spring")
    worker = scene.drumbeat.start("worker", log=log)
    [metrics] = served_ports(log)
    console_log = tmp_path / "console.log"
    scene.drumbeat.start("console", "serve", "--port", "0", "--metrics-port", "0", log=console_log)
    [console] = served_ports(console_log)
    emulator = int(scene.service.url.rpartition(":")[2])
    with prometheus(
        tmp_path / "prometheus", worker=metrics, receiver=receiver, console=console, emulator=emulator
    ) as server:
        with serving(scene.drumbeat, *words):
            until(lambda: server.value('sum(up{job=~"drumbeat-.*"})') == 4, "all four are scraped")
            accepted = 'sum(drumbeat_messages_total{outcome="accepted"})'
            until(lambda: server.value(accepted) == 300, "what the worker sent is seen")
            until(lambda: server.value("sum(drumbeat_emulator_accepted_total)") == 300, "so does the service")
            until(lambda: server.value('max(drumbeat_campaigns{state="finished"})') == 1, "it is finished")
            until(lambda: server.firing() == {ALWAYS_FIRES}, "nothing is wrong any more")
        until(lambda: "DrumbeatReceiverDown" in server.firing(), "the alert fires")
        with serving(scene.drumbeat, *words):
            until(lambda: "DrumbeatReceiverDown" not in server.firing(), "the alert is over")
    worker.terminate()
    assert worker.wait(timeout=30) == 143
