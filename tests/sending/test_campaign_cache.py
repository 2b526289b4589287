"""What a process knows of the running campaigns, as people and other processes move them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine.core.states import CampaignEvent, ReasonCode
from engine.sending import campaign_cache as campaign_board
from engine.sending.campaign_cache import Block, CampaignCache
from engine.store.campaign_states import apply_event
from engine.store.database import Connection
from engine.store.leases import stop, suspend
from engine.store.queries import queries
from tests.sending.planted import SLOW, campaign_row, plant_campaign, plant_numbers


@pytest.fixture
async def campaign_cache() -> CampaignCache:
    return CampaignCache("chat", None)


async def test_a_resume_outside_its_hours_says_again_that_the_campaign_waits(
    other: Connection, campaign_cache: CampaignCache
) -> None:
    now = datetime.now(UTC)
    closed = ((now + timedelta(hours=2)).time(), (now + timedelta(hours=3)).time())
    campaign_id = (await plant_campaign(other, window=closed)).campaign_id
    await campaign_cache.refresh(other)
    waits = await campaign_row(other, campaign_id)
    assert waits[1].startswith("waiting: quiet hours until")
    await apply_event(other, campaign_id, CampaignEvent.PAUSE, "by hand")
    await campaign_cache.refresh(other)
    await apply_event(other, campaign_id, CampaignEvent.RESUME, "")
    await campaign_cache.refresh(other)
    assert await campaign_row(other, campaign_id) == waits


async def states(connection: Connection) -> list[str]:
    rows = await connection.fetch("SELECT state FROM campaigns ORDER BY campaign_id")
    return [row["state"] for row in rows]


async def test_nothing_starts_before_its_time_and_what_has_none_at_once(
    other: Connection, campaign_cache: CampaignCache
) -> None:
    waits, has_no_time = [await plant_campaign(other, state="scheduled") for _ in range(2)]
    moved = "UPDATE campaigns SET start_at = now() + make_interval(secs => $2) WHERE campaign_id = $1"
    await other.execute(moved, waits.campaign_id, 60.0)
    await campaign_cache.refresh(other)
    assert await states(other) == ["scheduled", "running"]
    assert campaign_cache.running == [has_no_time.campaign_id]
    await other.execute(moved, waits.campaign_id, -1.0)
    await campaign_cache.refresh(other)
    assert campaign_cache.running == [waits.campaign_id, has_no_time.campaign_id]


@pytest.mark.parametrize("state", ["draft", "scheduled", "running", "paused"])
async def test_whatever_has_not_ended_expires(
    other: Connection, campaign_cache: CampaignCache, state: str
) -> None:
    await plant_campaign(other, state=state, expires_at=datetime.now(UTC) + timedelta(hours=1))
    overdue = await plant_campaign(other, state=state, expires_at=datetime.now(UTC))
    being_planned = await plant_campaign(other, state=state, expires_at=datetime.now(UTC))
    unplan = "UPDATE campaigns SET planned_at = NULL WHERE campaign_id = $1"
    await other.execute(unplan, being_planned.campaign_id)
    await campaign_cache.move_due(other)
    assert await states(other) == ["running" if state == "scheduled" else state, "expired", state]
    assert campaign_cache.to_close == {overdue.campaign_id: "expired"}


async def test_who_runs_one_campaign_leaves_all_others_alone(other: Connection) -> None:
    """They are for a worker, or for a run of their own."""
    mine = await plant_campaign(other)
    for state in ("scheduled", "running", "cancelled"):
        await plant_campaign(other, state=state)
    await plant_campaign(other, state="paused", expires_at=datetime.now(UTC))
    campaign_cache = CampaignCache("chat", mine.campaign_id)
    await campaign_cache.refresh(other)
    assert campaign_cache.running == [mine.campaign_id]
    assert await states(other) == ["running", "scheduled", "running", "cancelled", "paused"]
    assert campaign_cache.to_close == {}


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("state", ["cancelled", "expired"])
async def test_an_end_that_was_cut_short_is_noticed_whoever_holds_its_ranges(
    other: Connection, campaign_cache: CampaignCache, state: str, held: bool
) -> None:
    """One that is a minute old: a younger one is most likely still at it, and two would wait for each other."""
    cut_short, young, complete = [(await plant_campaign(other, state=state)).campaign_id for _ in range(3)]
    await other.execute("UPDATE campaigns SET finished_at = now() WHERE campaign_id = $1", young)
    await other.execute("UPDATE ranges SET state = 'closed' WHERE campaign_id = $1", complete)
    if held:
        await other.execute("UPDATE ranges SET phone_number_id = $1", SLOW)
    await campaign_cache.refresh(other)
    assert campaign_cache.to_close == {cut_short: state}


async def test_a_campaign_waits_for_the_first_of_its_numbers_to_return(other: Connection) -> None:
    """The campaign is paused only if all of its numbers are stopped until a person looks."""
    await plant_numbers(other, free=80, rests=80, stopped=80, too=80)
    await suspend(other, "rests", 1e9, "x")
    for number in ("stopped", "too"):
        await stop(other, number, "y")
    all_stopped = queries("leases")["all_stopped"]
    assert await other.fetchval(all_stopped, ["too", "stopped"]) == "stopped: y"
    for returns in ("rests", "free"):
        assert await other.fetchval(all_stopped, ["stopped", returns]) is None


async def test_only_who_expires_a_campaign_closes_it(
    other: Connection, campaign_cache: CampaignCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: Any) -> None:
        """Somebody cancelled it between the look and the word."""

    overdue = await plant_campaign(other, expires_at=datetime.now(UTC))
    with monkeypatch.context() as somebody:
        somebody.setattr(campaign_board, "apply_if_allowed", refused)
        await campaign_cache.refresh(other)
    assert campaign_cache.to_close == {}
    await campaign_cache.refresh(other)
    assert campaign_cache.to_close == {overdue.campaign_id: "expired"}


async def test_a_log_says_what_a_person_did_to_a_campaign(
    other: Connection, campaign_cache: CampaignCache
) -> None:
    """Who is called at night reads there why nothing is sent, and since when."""
    campaign_id = (await plant_campaign(other)).campaign_id
    name = await other.fetchval("SELECT name FROM campaigns WHERE campaign_id = $1", campaign_id)
    with capture_logs() as lines:
        await campaign_cache.refresh(other)
        for event, reason in (
            (CampaignEvent.PAUSE, "paused by hand"),
            (CampaignEvent.RESUME, ""),
            (CampaignEvent.CANCEL, "cancelled by hand"),
        ):
            await apply_event(other, campaign_id, event, reason)
            await campaign_cache.refresh(other)
            await campaign_cache.refresh(other)
    assert {line["campaign"] for line in lines} == {name}
    assert [(line["event"], line["reason"]) for line in lines] == [
        ("campaign_runs", ""),
        ("campaign_paused", "paused by hand"),
        ("campaign_runs", ""),
        ("campaign_cancelled", "cancelled by hand"),
    ]


def block(reason: str) -> Block | None:
    return Block(reason, ReasonCode.DISK_FULL) if reason else None


async def test_a_log_says_that_a_campaign_waits_and_that_it_goes_on(other: Connection) -> None:
    blocked_reason = ""
    campaign_cache = CampaignCache("chat", None, lambda: block(blocked_reason))
    await plant_campaign(other)
    with capture_logs() as lines:
        for blocked_reason in ("", "the disk is full", "the disk is full", ""):  # noqa: B007 - the board reads it
            await campaign_cache.refresh(other)
    assert [(line["event"], line["reason"]) for line in lines] == [
        ("campaign_runs", ""),
        ("campaign_waits", "waiting: the disk is full"),
        ("campaign_unblocked", ""),
    ]


async def test_a_campaign_that_waits_from_the_first_is_not_told_as_one_that_runs(other: Connection) -> None:
    blocked_reason = "the disk is full"
    await plant_campaign(other)
    for process in ("the first that sees it", "another one"):
        campaign_cache = CampaignCache("chat", None, lambda: block(blocked_reason))
        with capture_logs() as lines:
            await campaign_cache.refresh(other)
        assert [(line["event"], line["reason"]) for line in lines] == [
            ("campaign_waits", "waiting: the disk is full")
        ], process


@pytest.mark.parametrize("by_us", [False, True])
async def test_a_campaign_that_has_just_ended_is_known_however_long_it_ran(
    other: Connection, campaign_cache: CampaignCache, monkeypatch: pytest.MonkeyPatch, by_us: bool
) -> None:
    """What is claimed of it is still to be sent: the board is asked for its template."""
    monkeypatch.setattr(campaign_board, "KNOWN_MAX", 1)
    longest, short = [(await plant_campaign(other)).campaign_id for _ in range(2)]
    await campaign_cache.refresh(other)
    for campaign_id in (short, longest):
        await apply_event(other, campaign_id, CampaignEvent.PAUSE, "")
        if by_us:
            campaign_cache.paused(campaign_id)
        await campaign_cache.refresh(other)
    assert campaign_cache[longest].campaign_id == longest
    with pytest.raises(KeyError):
        campaign_cache[short]
