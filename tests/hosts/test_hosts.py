"""Three hosts with clocks minutes apart: one is added, one is killed, one is cut off from the database."""

import subprocess

import pytest

from tests.hosts.installation import NUMBERS, installed
from tests.hosts.network import network, why_no_hosts
from tests.hosts.trial import Trial

RATE_PER_S = 20.0
RECIPIENTS = 9_600


@pytest.fixture
def hosts_possible() -> None:
    if why := why_no_hosts():
        pytest.skip(why)


def interfaces_and_namespaces() -> str:
    commands = (["ip", "-br", "link"], ["ip", "netns", "list"])
    return "".join(subprocess.run(one, capture_output=True, text=True, check=True).stdout for one in commands)


def test_hosts_and_their_networks_are_removed(hosts_possible: None) -> None:
    with network() as made:
        plug = made.add_host(1)
        assert plug.namespace in interfaces_and_namespaces()
        assert f"db{made.id}d" in interfaces_and_namespaces()
    assert made.id not in interfaces_and_namespaces()


@pytest.mark.slow
async def test_numbers_move_between_hosts_and_nobody_is_sent_to_twice_or_forgotten(
    hosts_possible: None,
) -> None:
    async with installed(RATE_PER_S) as installation:
        trial = Trial(installation, RATE_PER_S, RECIPIENTS)
        await trial.begin("north", "south")
        await trial.add("west", ("north", "south"))
        await trial.kill("south", ("north", "west"))
        await trial.cut_off("west", ("north",))
        report = await trial.judge()
    assert report.broken == []
    assert report.accepted == RECIPIENTS
    took_over = {step.what: len(step.takeovers_s) for step in report.steps if step.takeovers_s}
    assert took_over == {
        "south killed": len(NUMBERS) // 3,
        "west cut off from the database": len(NUMBERS) // 2,
    }
