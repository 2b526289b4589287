"""A start time in commands: what a draft with one says, and what a change or a resume refuses without --now."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.cli.conftest import CREATE
from tests.cli.processes import Drumbeat, Service

PAST = "2020-01-01T09:00:00+00:00"


def test_a_start_time_never_starts_a_campaign_by_the_way(
    drumbeat: Drumbeat, synced: Service, audience: Path
) -> None:
    later = (datetime.now(UTC) + timedelta(days=1)).isoformat()
    create = (*CREATE, "--audience", audience, "--param", "name", "--param", "order", "--start-at")
    made = drumbeat.ok(*create, later).stdout
    assert "it does not start by itself: if you start it, it waits until" in made
    assert "start it with: drumbeat campaign start spring" in made
    assert "draft (does not start by itself" in drumbeat.ok("campaign", "status", "spring").stdout
    assert "does not start by itself" in drumbeat.ok("campaign", "list").stdout
    edited = drumbeat.ok("campaign", "edit", "spring", "--start-at", PAST).stdout
    assert "has passed: if you start it, it sends at once" in edited
    drumbeat.ok("campaign", "edit", "spring", "--start-at", later)

    assert drumbeat.ok("campaign", "start", "spring", "--json").json["campaigns"][0]["state"] == "scheduled"
    for change in (("--start-at", PAST), ("--unset", "start-at")):
        refused = drumbeat("campaign", "edit", "spring", *change)
        assert (refused.exit_code, "at once" in refused.stderr, "--now" in refused.stderr) == (2, True, True)
    assert drumbeat.ok("campaign", "status", "spring", "--json").json["state"] == "scheduled"
    drumbeat.ok("campaign", "edit", "spring", "--start-at", PAST, "--now")
    drumbeat.ok("campaign", "pause", "spring")
    assert "resume spring --now" in drumbeat.ok("campaign", "resume", "--all").stderr
    assert drumbeat("campaign", "resume", "spring").exit_code == 2
    assert synced.accepted() == 0
    assert "spring: running" in drumbeat.ok("campaign", "resume", "spring", "--now").stdout
