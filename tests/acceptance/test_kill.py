"""SIGKILL during a run, then a second run: by the service's ledger, nobody twice and nobody forgotten."""

import signal

import pytest

from tests.acceptance.conftest import Scene
from tests.cli.processes import until

PEOPLE = 6_000
# The bound after a crash: the claim-ahead, the in-flight requests, and the outcomes that were not stored.
IN_DOUBT_MAX = 2_000


@pytest.fixture
def status_delay() -> str:
    """No status comes before the test sets the clock ahead. Until then, recipients in doubt must not be sent to again."""
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
    assert PEOPLE - len(sent) <= counts["unknown"] <= IN_DOUBT_MAX

    scene.service.post("clock", {"seconds": 24 * 3600})
    until(scene.events_delivered, "every event was delivered")
    until(
        lambda: scene.counts()["unknown"] == PEOPLE - len(sent),
        "statuses settle the recipients whose messages the service accepted",
    )

    resent = scene.drumbeat("campaign", "settle", "spring", "--resend", "--quiet")
    assert resent.exit_code == 0, resent.stderr
    sent = scene.service.recipients()
    assert sorted(sent) == sorted(str(5_511_980_000_000 + row) for row in range(PEOPLE))
    assert scene.counts()["unknown"] == 0
    assert scene.state() == "finished"
