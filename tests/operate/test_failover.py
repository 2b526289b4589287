"""docs/operate/failover.md, command for command, with a campaign in flight and the primary killed."""

import math
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from tests.cli.processes import Drumbeat, until
from tests.kit.ports import free_port
from tests.operate.campaign import NUMBERS, RATE_PER_S, Campaign, fetch, judge, planned, receiving, working
from tests.operate.operator import Operator, operating

RECIPIENTS = 9_000
CLAIMED_S = 3.0  # how long a message that was claimed may still leave, as the page says


@contextmanager
def replicated(drumbeat: Drumbeat) -> Iterator[Operator]:
    """A primary and a standby, both in Drumbeat's URL."""
    with operating("failover.md", drumbeat) as operator:
        operator.directory("STANDBY")
        standby_port = free_port()
        operator.variables |= {"PRIMARY_PORT": str(operator.port), "STANDBY_PORT": str(standby_port)}
        operator.follow("Make a standby")
        hosts = f"127.0.0.1:{operator.port},127.0.0.1:{standby_port}"
        drumbeat.settings["database_url"] = (
            f"postgresql://postgres@{hosts}/postgres?target_session_attrs=read-write"
        )
        yield operator


def kill_server(data: str) -> None:
    """As a power cut: the postmaster and all of its processes at once."""
    postmaster = psutil.Process(int((Path(data) / "postmaster.pid").read_text("utf-8").split()[0]))
    postmaster.suspend()  # or it would restart the others
    for process in (*postmaster.children(recursive=True), postmaster):
        os.kill(process.pid, signal.SIGKILL)
    psutil.wait_procs([postmaster])


def await_pause(campaign: Campaign, operator: Operator) -> None:
    """The worker finds the new primary, and pauses what it would send."""
    until(lambda: campaign.reason_code() == "database_rolled_back", "the campaign waits for a person")
    operator.follow_next("Fail over")


@pytest.mark.long
def test_a_standby_that_lagged_takes_over(drumbeat: Drumbeat) -> None:
    """Asynchronous: the standby lacks the last second. Its claims are lost, and nobody gets a second message."""
    with replicated(drumbeat) as operator, planned(drumbeat, RECIPIENTS, status_delay_s=0.3) as campaign:
        with receiving(campaign), working(campaign):
            drumbeat.ok("campaign", "start", "spring")
            campaign.await_accepted(300)
            operator.shell('pg_ctl stop -w -m fast -D "$STANDBY"')  # as if its network failed
            lost_since_s = time.monotonic()
            campaign.await_accepted(campaign.service.accepted() + 600)
            kill_server(operator.variables["PGDATA"])
            lost_s = time.monotonic() - lost_since_s + CLAIMED_S
            operator.shell('pg_ctl start -w -D "$STANDBY" -o "-p $STANDBY_PORT" -l "$STANDBY/log"')
            operator.follow_next("Fail over")
            await_pause(campaign, operator)
            reached = campaign.service.accepted()

            asynchronous = "Continue after an asynchronous fail-over"
            (last,) = operator.follow_next(asynchronous)
            assert last.stdout.strip(), "the standby says when its last commit was"
            operator.variables["LOST"] = str(math.ceil(lost_s))
            operator.follow_next(asynchronous)
            known = campaign.states()
            assert [phone for phone in campaign.reached() if known[phone] == "pending"] == []
            campaign.await_events()
            operator.follow_next(asynchronous)
            # What was claimed when the campaign paused still leaves: less than a second of the rate.
            assert campaign.service.accepted() - reached < RATE_PER_S * len(NUMBERS)
            operator.follow_next(asynchronous)
            campaign.await_finished()
        judge(campaign)


@pytest.mark.slow
def test_a_synchronous_standby_takes_over_and_nothing_is_lost(drumbeat: Drumbeat) -> None:
    """Resumed at once: everybody gets the message, once, and the person takes nobody as sent."""
    with replicated(drumbeat) as operator, planned(drumbeat, RECIPIENTS, status_delay_s=0.3) as campaign:
        operator.follow("Lose nothing")
        confirmed = "SELECT FROM pg_stat_replication WHERE sync_state = 'quorum'"
        until(lambda: fetch(campaign.database_url, confirmed), "the standby confirms commits")
        with receiving(campaign), working(campaign):
            drumbeat.ok("campaign", "start", "spring")
            campaign.await_accepted(600)
            kill_server(operator.variables["PGDATA"])
            operator.follow_next("Fail over")
            await_pause(campaign, operator)
            operator.follow("Continue after a synchronous fail-over")
            campaign.await_finished()
            campaign.await_events()
            until(lambda: "unknown" not in campaign.states().values(), "events settle who is in doubt")
        judge(campaign)
        assert len(campaign.reached()) == RECIPIENTS
