"""Metrics of real processes: what the reference lists is there, and the counts are those of the service."""

from pathlib import Path

from tests.acceptance.conftest import Scene
from tests.cli.processes import until
from tests.metrics_text import Family, documented, exposed, scrape, served_ports, value

PEOPLE = 300


def urls(log: Path, processes: int = 1) -> list[str]:
    return [f"http://127.0.0.1:{port}/metrics" for port in served_ports(log, processes)]


def total(texts: list[str], name: str, **labels: str) -> float:
    return sum(value(text, name, **labels) or 0 for text in texts)


def test_the_reference_lists_every_metric_with_its_type_and_labels(scene: Scene, tmp_path: Path) -> None:
    scene.create(PEOPLE)
    scene.drumbeat.ok("campaign", "start", "spring")
    log = tmp_path / "worker.log"
    worker = scene.drumbeat.start("worker", log=log)
    console_log = tmp_path / "console.log"
    console = ("console", "serve", "--port", "0", "--metrics-port", "0")
    scene.drumbeat.start(*console, log=console_log)
    own = [*urls(log), *urls(console_log)]
    until(lambda: scene.events_delivered() and scene.state() == "finished", "everybody has the message")
    found: dict[str, Family] = {}
    for text in map(scrape, (*own, f"{scene.receiver}/metrics", f"{scene.service.url}/metrics")):
        found |= exposed(text)
    listed = documented()
    assert found.keys() == listed.keys()
    for name, family in found.items():
        assert family.type == listed[name].type, name
        assert family.labels in (set(), listed[name].labels), name
    worker.terminate()
    assert worker.wait(timeout=30) == 143


def test_processes_count_each_message_once_and_agree_about_the_installation(
    scene: Scene, tmp_path: Path
) -> None:
    scene.create(PEOPLE)
    scene.drumbeat.ok("campaign", "start", "spring")
    log = tmp_path / "worker.log"
    worker = scene.drumbeat.start("worker", "--processes", "2", log=log)
    both = urls(log, processes=2)
    until(lambda: scene.state() == "finished", "everybody was sent to")
    texts = [scrape(url) for url in both]
    assert total(texts, "drumbeat_messages_total", outcome="accepted") == scene.service.accepted() == PEOPLE
    assert [value(text, "drumbeat_numbers_owned") for text in texts] == [1, 1]
    assert [value(text, "drumbeat_campaigns", state="finished") for text in texts] == [1, 1]
    not_sent = total(texts, "drumbeat_messages_total", outcome="not_sent")
    requests = total(texts, "drumbeat_messages_total") - not_sent  # a throttled one is sent again
    assert total(texts, "drumbeat_requests_total") == requests
    assert total(texts, "drumbeat_attempt_duration_seconds_count") == requests
    worker.terminate()
    assert worker.wait(timeout=30) == 143


def test_a_run_serves_metrics_only_if_it_is_asked(scene: Scene, tmp_path: Path) -> None:
    scene.create(PEOPLE)
    log = tmp_path / "run.log"
    run = scene.drumbeat.start("campaign", "run", "spring", "--metrics-port", "0", log=log)
    [url] = urls(log)
    until(lambda: "drumbeat_messages_total{" in scrape(url), "it counts")
    assert run.wait(timeout=60) == 0
    scene.create(PEOPLE, name="autumn")
    assert "metrics_served" not in scene.drumbeat.ok("campaign", "run", "autumn").stderr
