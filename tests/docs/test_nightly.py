"""The job of docs/examples/nightly.sh through ten nights of what happens to such jobs."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import drumbeat
from tests.cli.processes import Drumbeat, Service, serving, until
from tests.docs.conftest import NUMBER
from tests.docs.test_links import ROOT

__all__ = ["drumbeat"]

PEOPLE = 100
OLD_S = 120.0


@dataclass
class Job:
    """The job in its directory. Each night has people of its own, so each person gets one message at most."""

    drumbeat: Drumbeat
    service: Service
    night: int = 0

    def begin(self) -> None:
        self.night += 1

    @property
    def name(self) -> str:
        return f"orders-2101-03-{self.night:02}"

    def write(self, people: int = PEOPLE, age_s: float = OLD_S, cut: int = 0) -> Path:
        """The file of the night; `cut` leaves out so many of its last characters."""
        rows = (
            f"+5511{980_000_000 + 1_000 * self.night + person},Ana {person},A-{person}\n"
            for person in range(people)
        )
        text = "phone,first_name,order\n" + "".join(rows)
        path = self.drumbeat.directory / f"{self.name}.csv"
        path.write_text(text[: len(text) - cut])
        os.utime(path, (time.time() - age_s,) * 2)
        return path

    def start(self) -> subprocess.Popen[str]:
        settings = {f"DRUMBEAT_{name.upper()}": value for name, value in self.drumbeat.settings.items()}
        return subprocess.Popen(
            ["sh", "nightly.sh", f"2101-03-{self.night:02}"],
            env={"PATH": f"{Path(sys.executable).parent}:{os.defpath}", **settings},
            cwd=self.drumbeat.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, exit_code: int | None = 0) -> str:
        job = self.start()
        try:
            _, said = job.communicate(timeout=120)
        except subprocess.TimeoutExpired:
            os.killpg(job.pid, signal.SIGKILL)
            raise
        assert exit_code in (None, job.returncode), said
        return said

    def waits(self) -> str:
        """Run the job; it is too early, which is no news. Return why."""
        assert self.run() == "" and not self.is_done()
        return (self.drumbeat.directory / f"{self.name}.log").read_text()

    def sent(self) -> int:
        """How many people of the night have got a message."""
        return sum(f"98{self.night:04}" == to[4:10] for to in self.service.recipients())

    def is_done(self) -> bool:
        return (self.drumbeat.directory / f"{self.name}.done").exists()

    def status(self, name: str) -> Any:
        return self.drumbeat.ok("campaign", "status", name, "--json").json


@pytest.fixture
def job(drumbeat: Drumbeat) -> Iterator[Job]:
    for example in ("nightly.sh", "nightly.toml"):
        shutil.copy(ROOT / "docs/examples" / example, drumbeat.directory)
    options = ("--port", "0", "--number", f"{NUMBER}:200", "--status-delay", "0")
    with serving(drumbeat, "emulator", "serve", *options) as url:
        drumbeat.settings["base_url"] = url
        drumbeat.ok("numbers", "sync")
        drumbeat.ok("templates", "sync")
        yield Job(drumbeat, Service(url))


@pytest.mark.long
def test_ten_nights(job: Job) -> None:
    nights = (
        an_ordinary_night, a_late_file, half_a_file, a_file_that_is_being_written, nights_without_orders,
        a_kill, failures_that_a_retry_helps, failures_that_none_helps, a_file_that_grows_meanwhile,
        a_service_that_is_away,
    )  # fmt: skip
    for night in nights:
        job.begin()
        night(job)
        assert job.is_done(), night.__name__
        job.run()  # and once more
    assert max(Counter(job.service.recipients()).values()) == 1, "somebody got two messages"


def an_ordinary_night(job: Job) -> None:
    job.write()
    assert job.run() == ""
    assert job.sent() == PEOPLE


def a_late_file(job: Job) -> None:
    assert "does not exist" in job.waits()
    an_ordinary_night(job)


def half_a_file(job: Job) -> None:
    """It has fewer people than half of the last night, and half a line."""
    job.write(cut=2_000)
    assert "the last line of the file does not end" in job.waits()
    job.write(people=PEOPLE // 2 - 1)
    assert "--min-recipients asks for 50" in job.waits()
    an_ordinary_night(job)


def a_file_that_is_being_written(job: Job) -> None:
    job.write(age_s=1)
    assert "--unchanged-for asks for 60 s" in job.waits()
    an_ordinary_night(job)


def nights_without_orders(job: Job) -> None:
    job.write(people=0)
    assert job.run() == ""
    assert job.sent() == 0


def a_kill(job: Job) -> None:
    """Those in doubt are told, and wait for their statuses or for a person."""
    job.write()
    killed = job.start()
    until(lambda: job.sent() > 5, "the first messages")
    os.killpg(killed.pid, signal.SIGKILL)
    killed.communicate()
    in_doubt = 0
    while not job.is_done():
        said, in_doubt = job.run(None), job.status(job.name)["counts"]["unknown"]
        assert bool(in_doubt) == (f"{in_doubt} in doubt" in said)
    assert job.sent() <= PEOPLE <= job.sent() + in_doubt


def failures_that_a_retry_helps(job: Job) -> None:
    job.service.post("faults", {"kind": "refusal", "probability": 1, "code": 131008, "count": 1})
    job.write()
    assert job.run() == ""
    assert job.sent() == PEOPLE


def failures_that_none_helps(job: Job) -> None:
    """More than the 2 % of the job: that is told, once."""
    job.service.post("faults", {"kind": "refusal", "probability": 1, "code": 131026, "count": 3})
    job.write()
    assert "more than the limit of 2%" in job.run(exit_code=3)
    assert "left out, 131026 3" in (job.drumbeat.directory / f"{job.name}.log").read_text()


def a_file_that_grows_meanwhile(job: Job) -> None:
    job.write()
    job.drumbeat.ok("campaign", "apply", "nightly.toml", "--name", job.name, "--audience", f"{job.name}.csv")
    job.drumbeat.ok("campaign", "start", job.name)  # by a person, in the console
    job.write(people=PEOPLE + 3)
    assert job.run() == ""
    assert job.sent() == PEOPLE


def a_service_that_is_away(job: Job) -> None:
    job.write()
    url, job.drumbeat.settings["base_url"] = job.drumbeat.settings["base_url"], "http://127.0.0.1:9"
    assert "127.0.0.1:9" in job.run(exit_code=69)
    job.drumbeat.settings["base_url"] = url
    assert job.run() == ""
    assert job.sent() == PEOPLE
