"""Metrics as a scrape gets them, and as the reference lists them."""

import json
import re
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.cli.processes import until
from tests.warm import ROOT

REFERENCE = ROOT / "docs" / "reference" / "metrics.md"
_ROW = re.compile(r"^\| `(?P<name>drumbeat_\w+)` \| (?P<type>\w+) \|(?P<labels>[^|]*)\|", re.MULTILINE)
_SUFFIXES = re.compile(r"_(bucket|count|sum)$")


@dataclass
class Family:
    """`labels` is empty if the family has no sample at the moment."""

    type: str
    labels: set[str] = field(default_factory=set)


def documented() -> dict[str, Family]:
    """Every metric of the reference by its name."""
    rows = list(_ROW.finditer(REFERENCE.read_text("utf-8")))
    assert len({row["name"] for row in rows}) == len(rows), "a metric has two rows"
    return {row["name"]: Family(row["type"], set(re.findall(r"\w+", row["labels"]))) for row in rows}


def exposed(text: str) -> dict[str, Family]:
    """Our metrics of a scrape, by the name that queries use. Every one has the label of the installation."""
    found: dict[str, Family] = {}
    for family in text_string_to_metric_families(text):
        if family.name.startswith("drumbeat_"):
            name = family.name + ("_total" if family.type == "counter" else "")
            labels = {label for sample in family.samples for label in sample.labels}
            found[name] = Family(family.type, labels - {"le", "installation"})
    return found


def value(text: str, name: str, **labels: str) -> float | None:
    """The sum of the samples with these labels; None if there is none."""
    samples = [
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    ]
    return sum(samples) if samples else None


def named(text: str) -> set[str]:
    """Our metrics that a query, a rule or a dashboard names; those of a histogram without their suffix."""
    return {_SUFFIXES.sub("", name) for name in re.findall(r"\bdrumbeat_\w+", text)}


def scrape(url: str) -> str:
    with urllib.request.urlopen(url, timeout=30) as reply:
        text: str = reply.read().decode()
        return text


def served_ports(log: Path, processes: int = 1) -> list[int]:
    """The ports of metrics that a worker's log names, when as many as these processes serve them."""

    def ports() -> list[int]:
        events = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
        return [event["port"] for event in events if event["event"] == "metrics_served"]

    until(lambda: len(ports()) >= processes, "the worker serves its metrics")
    return ports()
