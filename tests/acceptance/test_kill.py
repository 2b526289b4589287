"""SIGKILL in the middle, then run again: by the service's own ledger nobody twice, and nobody forgotten."""

import signal

import pytest

from tests.acceptance.conftest import Scene
from tests.cli.processes import until

PEOPLE = 6_000
# Rule of bounded doubt: the lead of the mark, the open requests, and what waited to be stored.
DOUBT_MAX = 2_000


@pytest.fixture
def status_delay() -> str:
    """No status comes before the test lets time pass, so only not sending again keeps a doubt safe."""
    return "1000"


def test_a_killed_run_is_continued_and_what_it_left_in_doubt_is_settled(scene: Scene) -> None:
    scene.create(PEOPLE)
    first = scene.drumbeat.start("campaign", "run", "spring", "--quiet")
    until(lambda: scene.service.accepted() > PEOPLE // 3, "a third is sent")
    first.send_signal(signal.SIGKILL)
    first.communicate()
    assert scene.state() == "running"
    assert scene.service.accepted() < PEOPLE

    second = scene.drumbeat("campaign", "run", "spring", "--quiet")
    assert second.exit_code == 3, second.stderr
    sent = scene.service.recipients()
    assert len(sent) == len(set(sent))
    counts = scene.counts()
    assert counts["pending"] == counts["deferred"] == 0
    assert PEOPLE - len(sent) <= counts["unknown"] <= DOUBT_MAX

    scene.service.post("clock", {"seconds": 24 * 3600})
    until(scene.told, "every event was delivered")
    until(lambda: scene.counts()["unknown"] == PEOPLE - len(sent), "statuses settle whom the service has")

    resent = scene.drumbeat("campaign", "settle", "spring", "--resend", "--quiet")
    assert resent.exit_code == 0, resent.stderr
    sent = scene.service.recipients()
    assert sorted(sent) == sorted(str(5_511_980_000_000 + person) for person in range(PEOPLE))
    assert scene.counts()["unknown"] == 0
    assert scene.state() == "finished"
