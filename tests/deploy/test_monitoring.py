"""Rules and dashboards: every metric that they name exists, every alert has its page, and promtool agrees."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.docs.markdown import anchors
from tests.metrics_text import documented, named
from tests.warm import ROOT

PROMETHEUS = ROOT / "deploy" / "prometheus"
RULES = PROMETHEUS / "alerts.yaml"
OBJECTIVES = PROMETHEUS / "objectives.yaml"
DASHBOARDS = sorted((ROOT / "deploy" / "grafana" / "dashboards").glob("*.json"))
DATASOURCE = ROOT / "deploy" / "grafana" / "provisioning" / "datasources" / "prometheus.yaml"
RUNBOOK = ROOT / "docs" / "operate" / "alerts.md"
COLUMNS = 24
ALWAYS_FIRES = "DrumbeatAlertsWork"
PROMTOOL = shutil.which("promtool")
needs_promtool = pytest.mark.skipif(PROMTOOL is None, reason="needs promtool: apt-get install prometheus")


def promtool(*words: str | Path) -> str:
    assert PROMTOOL is not None
    done = subprocess.run([PROMTOOL, *map(str, words)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def alerts() -> list[str]:
    return re.findall(r"- alert: (\w+)", RULES.read_text("utf-8"))


def dashboard(path: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return found


def expressions(path: Path) -> list[str]:
    return [target["expr"] for panel in dashboard(path)["panels"] for target in panel["targets"]]


@pytest.mark.parametrize("path", [RULES, OBJECTIVES, *DASHBOARDS], ids=lambda path: path.name)
def test_every_metric_that_is_named_exists(path: Path) -> None:
    """A test of running processes keeps the reference equal to what they serve."""
    found = named(re.sub(r"installation:\w+:\w+", "", path.read_text("utf-8")))  # but what rules record
    assert found
    assert found - documented().keys() == set()


def test_every_alert_has_a_section_and_every_section_its_alert() -> None:
    text = RUNBOOK.read_text("utf-8")
    assert re.findall(r"^## (\w+)$", text, re.MULTILINE) == alerts()
    runbooks = re.findall(r"runbook: docs/operate/alerts\.md#(\w+)", RULES.read_text("utf-8"))
    assert runbooks == [name.lower() for name in alerts()]
    assert set(runbooks) <= anchors(text)


def test_every_alert_has_a_test_and_stays_silent_for_a_healthy_installation() -> None:
    text = (PROMETHEUS / "alerts_test.yaml").read_text("utf-8")
    fires = {name for name in alerts() if re.search(rf"alertname: {name}\n\s+exp_alerts:", text)}
    healthy = text.partition("- name: a healthy installation")[2].partition("- name:")[0]
    assert fires == set(alerts()) == set(re.findall(r"alertname: (\w+)", healthy)) | {ALWAYS_FIRES}


def test_every_rule_keeps_the_installation() -> None:
    """An aggregation without it would add the trouble of one installation to another."""
    aggregation = re.compile(r"\b(?:sum|max|min|group|count)\b(?: by \((?!installation)|\()")
    assert aggregation.findall(RULES.read_text("utf-8")) == []


@needs_promtool
def test_the_rules_do_what_their_tests_say() -> None:
    promtool("check", "rules", RULES, OBJECTIVES)
    promtool("test", "rules", PROMETHEUS / "alerts_test.yaml")


@needs_promtool
@pytest.mark.parametrize("name", ["prometheus.yml", "local.yml"])
def test_prometheus_takes_the_configuration(name: str) -> None:
    assert "2 rule files found" in promtool("check", "config", PROMETHEUS / name)


@needs_promtool
@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.name)
def test_every_query_of_a_dashboard_can_be_parsed(path: Path, tmp_path: Path) -> None:
    rules = [{"record": f"query:{nth}", "expr": expr} for nth, expr in enumerate(expressions(path))]
    assert rules
    file = tmp_path / "queries.yaml"  # JSON is YAML
    file.write_text(json.dumps({"groups": [{"name": path.stem, "rules": rules}]}))
    promtool("check", "rules", file)


@pytest.mark.parametrize("path", DASHBOARDS, ids=lambda path: path.name)
def test_the_panels_of_a_dashboard_lie_beside_each_other_and_use_the_provisioned_source(path: Path) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in dashboard(path)["panels"]:
        at = panel["gridPos"]
        assert at["x"] + at["w"] <= COLUMNS
        cells = {(at["x"] + x, at["y"] + y) for x in range(at["w"]) for y in range(at["h"])}
        assert not cells & taken, panel["title"]
        taken |= cells
    sources = re.findall(
        r'"uid": "(\w+)"', json.dumps([each["datasource"] for each in dashboard(path)["panels"]])
    )
    assert set(sources) == set(re.findall(r"\buid: (\w+)", DATASOURCE.read_text("utf-8")))


def test_dashboards_have_names_of_their_own() -> None:
    uids = [dashboard(path)["uid"] for path in DASHBOARDS]
    assert len(DASHBOARDS) == len(set(uids)) == 4
