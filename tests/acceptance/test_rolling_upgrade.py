"""A rolling upgrade while a campaign is sent, and the way back: processes of two versions over one database."""

import shutil
import signal
import urllib.request
from pathlib import Path

import pytest

from tests.acceptance.conftest import Scene, scene
from tests.cli.processes import Drumbeat, serving, until
from tests.warm import ROOT

__all__ = ["scene"]  # a fixture
pytestmark = pytest.mark.long

PEOPLE = 12_000
NEXT = "0002_made_up"
NEXT_SQL = """
ALTER TABLE recipients ADD COLUMN made_up integer;
ALTER TABLE outcomes ADD COLUMN made_up integer NOT NULL DEFAULT 1;
CREATE INDEX campaigns_made_up ON campaigns (created_at);
"""


def next_version(folder: Path) -> Path:
    """A package as the present one, with one more version of the schema."""
    package = folder / "drumbeat"
    package.mkdir(parents=True)
    for each in (ROOT / ".src" / "drumbeat").iterdir():
        if each.name != "engine":
            (package / each.name).symlink_to(each.resolve())
    shutil.copytree(ROOT / "engine", package / "engine", ignore=shutil.ignore_patterns("__pycache__"))
    version = package / "engine" / "store" / "sql" / "schema" / NEXT
    version.mkdir()
    (version / "01_made_up.sql").write_text(NEXT_SQL)
    return folder


def answers(url: str) -> bool:
    with urllib.request.urlopen(f"{url}/campaigns", timeout=30) as reply:
        return int(reply.status) == 200


def test_a_rolling_upgrade_and_the_way_back_send_to_everybody_once(scene: Scene, tmp_path: Path) -> None:
    former = scene.drumbeat
    later = Drumbeat(former.directory, former.settings, cold=True, source=next_version(tmp_path / "next"))
    former.ok("numbers", "limit", "2", "100")  # so slow that all processes are replaced meanwhile
    scene.create(PEOPLE, numbers=("2",))
    workers = [former.start("worker", log=tmp_path / f"former-{number}.log") for number in range(3)]
    console = ("console", "serve", "--port", "0", "--no-metrics")
    try:
        with serving(former, *console) as old_page:
            former.ok("campaign", "start", "spring")
            until(lambda: scene.service.accepted() > 100, "it is sent")
            assert later.ok("db", "migrate").stdout.split() == NEXT.split("_", 1)
            for version, name in ((later, "later"), (former, "back")):
                for number in range(3):
                    log = tmp_path / f"{name}-{number}.log"
                    workers.append(version.start("worker", log=log))
                    until(lambda log=log: "metrics_served" in log.read_text(), f"{name} {number} works")
                    workers[0].send_signal(signal.SIGTERM)
                    assert workers.pop(0).wait(60) in (0, 143)
                with serving(version, *console) as page, serving(version, "webhooks", "serve", "--port", "0"):
                    assert answers(page)
                assert answers(old_page), "the former console works on"
            assert scene.service.accepted() < PEOPLE, "all of this happened while it was sent"
            former.ok("numbers", "limit", "2", "1000")
            until(lambda: scene.state() == "finished", "it has ended")
    finally:
        later.close()
    got = scene.service.recipients()
    assert len(got) == len(set(got)) == PEOPLE
    assert scene.counts()["unknown"] == 0
