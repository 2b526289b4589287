"""docs/operate/backup.md, command for command, with a campaign in flight: nobody gets a message twice."""

import math
import time
from collections import Counter

import pytest

from tests.cli.processes import Drumbeat
from tests.operate.campaign import Campaign, judge, planned, receiving, working
from tests.operate.operator import Operator, operating

RECIPIENTS = 9_000
CONTINUE = "Continue the campaigns"


def send_until_lost(campaign: Campaign, operator: Operator) -> float:
    """A base backup is taken while the campaign runs, then its worker is lost. Returns the lost seconds."""
    with receiving(campaign), working(campaign) as worker:
        campaign.drumbeat.ok("campaign", "start", "spring")
        campaign.await_accepted(200)
        operator.follow("Take a base backup")
        campaign.await_accepted(campaign.service.accepted() + 200)
        moment = operator.shell("psql -d postgres -Atc 'SELECT clock_timestamp()'").stdout.strip()
        operator.variables["MOMENT"], restored_s = moment, time.monotonic()
        campaign.await_accepted(campaign.service.accepted() + 400)
        worker.kill()
        worker.wait()
        return time.monotonic() - restored_s


@pytest.mark.slow
def test_a_campaign_in_flight_is_restored_to_a_moment(drumbeat: Drumbeat) -> None:
    with operating("backup.md", drumbeat) as operator:
        for variable in ("ARCHIVE", "BACKUP"):
            operator.directory(variable)
        operator.shell('mkdir "$ARCHIVE"')
        operator.follow("Archive the WAL")
        drumbeat.settings["database_url"] = f"postgresql://postgres@127.0.0.1:{operator.port}/postgres"
        with planned(drumbeat, RECIPIENTS, status_delay_s=0.3) as campaign:
            operator.variables["LOST"] = str(math.ceil(send_until_lost(campaign, operator)))
            operator.follow("Restore")
            operator.follow_next(CONTINUE)
            check_named(campaign)
            with working(campaign), receiving(campaign):
                reached = campaign.service.accepted()
                campaign.await_events()
                operator.follow_next(CONTINUE)
                assert campaign.service.accepted() == reached, "nothing is sent before a person says so"
                operator.follow_next(CONTINUE)
                campaign.await_finished()
            judge(campaign)


def check_named(campaign: Campaign) -> None:
    """Whoever got a message that the database does not know is in doubt, and not everybody is."""
    reached, known = campaign.reached(), campaign.states()
    assert campaign.reason_code() == "database_rolled_back"
    assert [phone for phone in reached if known[phone] == "pending"] == []
    assert "unknown" in {known[phone] for phone in reached}, "nothing was lost: this run shows nothing"
    assert Counter(known.values())["pending"] > 0, "whom the limits kept out of reach"
