"""The rules of deploy/prometheus as one object for the operator of Prometheus.

`python -m tests.deploy.rule_object --write` writes deploy/kubernetes/components/monitoring/rules.yaml.
"""

import sys
from typing import Any

import yaml

from tests.deploy.compose import DEPLOY

OBJECT = DEPLOY / "kubernetes/components/monitoring/rules.yaml"
HEADER = """# Made of deploy/prometheus/alerts.yaml and objectives.yaml: `python -m tests.deploy.rule_object --write`.
"""


def rule_object() -> dict[str, Any]:
    files = [DEPLOY / "prometheus" / name for name in ("alerts.yaml", "objectives.yaml")]
    groups = [group for file in files for group in yaml.safe_load(file.read_text("utf-8"))["groups"]]
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "drumbeat"},
        "spec": {"groups": groups},
    }


if __name__ == "__main__" and sys.argv[1:] == ["--write"]:
    OBJECT.write_text(HEADER + yaml.safe_dump(rule_object(), sort_keys=False, width=110), "utf-8")
