"""What a process knows of campaigns, and moves, while people and other processes move them too."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignEvent, ReasonCode
from drumbeat.engine.sending import campaign_cache, campaign_housekeeping
from drumbeat.engine.sending.campaign_housekeeping import CampaignHousekeeping
from drumbeat.engine.sending.campaign_reader import Block, CampaignReader
from drumbeat.engine.store.campaign_states import apply_event, apply_if_allowed
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import stop, suspend
from drumbeat.engine.store.queries import queries
from tests.sending.planted import SLOW, campaign_row, context_of, plant_campaign, plant_numbers


class Process:
    """What a process knows of campaigns and does with them, without its numbers."""

    def __init__(
        self, pool: Pool, campaign_id: int | None = None, blocked_reason: Callable[[], str] = lambda: ""
    ) -> None:
        context = context_of(pool)
        self.cache = context.campaign_cache
        self.housekeeping = CampaignHousekeeping(context, campaign_id)
        self.reader = CampaignReader(self.cache, "chat", campaign_id, blocked_reason)

    async def refresh(self, connection: Connection) -> None:
        await self.housekeeping.move_due(connection)
        await self.reader.refresh(connection)


@pytest.fixture
async def process(pool: Pool) -> Process:
    return Process(pool)


async def test_a_resume_outside_its_hours_says_again_that_the_campaign_waits(
    other: Connection, process: Process
) -> None:
    now = datetime.now(UTC)
    closed = ((now + timedelta(hours=2)).time(), (now + timedelta(hours=3)).time())
    campaign_id = (await plant_campaign(other, window=closed)).campaign_id
    await process.refresh(other)
    waits = await campaign_row(other, campaign_id)
    assert waits[1].startswith("waiting: quiet hours until")
    await apply_event(other, campaign_id, CampaignEvent.PAUSE, "by hand")
    await process.refresh(other)
    await apply_event(other, campaign_id, CampaignEvent.RESUME, "")
    await process.refresh(other)
    assert await campaign_row(other, campaign_id) == waits


async def test_a_campaign_that_is_deleted_when_its_time_comes_is_not_started_and_ends_no_process(
    pool: Pool, other: Connection, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    retired, gone, kept = [(await plant_campaign(other, state="scheduled")).campaign_id for _ in range(3)]

    async def delete_first(connection: Connection, campaign_id: int, *more: Any) -> object:
        if campaign_id != kept:
            await other.execute(statements("plan")["retire"], campaign_id, ["scheduled"])
        if campaign_id == gone:
            await other.execute("DELETE FROM campaigns WHERE campaign_id = $1", campaign_id)
        return await apply_if_allowed(connection, campaign_id, *more)

    monkeypatch.setattr(campaign_housekeeping, "apply_if_allowed", delete_first)
    async with pool.acquire() as connection:
        await process.housekeeping.move_due(connection)
    assert [(await campaign_row(other, each))[0] for each in (retired, kept)] == ["scheduled", "running"]


async def states(connection: Connection) -> list[str]:
    rows = await connection.fetch("SELECT state FROM campaigns ORDER BY campaign_id")
    return [row["state"] for row in rows]


async def test_nothing_starts_before_its_time_and_what_has_none_at_once(
    other: Connection, process: Process
) -> None:
    waits, has_no_time = [await plant_campaign(other, state="scheduled") for _ in range(2)]
    moved = "UPDATE campaigns SET start_at = now() + make_interval(secs => $2) WHERE campaign_id = $1"
    await other.execute(moved, waits.campaign_id, 60.0)
    await process.refresh(other)
    assert await states(other) == ["scheduled", "running"]
    assert process.cache.running == [has_no_time.campaign_id]
    await other.execute(moved, waits.campaign_id, -1.0)
    await process.refresh(other)
    assert process.cache.running == [waits.campaign_id, has_no_time.campaign_id]


@pytest.mark.parametrize("state", ["draft", "scheduled", "running", "paused"])
async def test_whatever_has_not_ended_expires(other: Connection, process: Process, state: str) -> None:
    await plant_campaign(other, state=state, expires_at=datetime.now(UTC) + timedelta(hours=1))
    overdue = await plant_campaign(other, state=state, expires_at=datetime.now(UTC))
    being_planned = await plant_campaign(other, state=state, expires_at=datetime.now(UTC))
    unplan = "UPDATE campaigns SET planned_at = NULL WHERE campaign_id = $1"
    await other.execute(unplan, being_planned.campaign_id)
    await process.housekeeping.move_due(other)
    assert await states(other) == ["running" if state == "scheduled" else state, "expired", state]
    assert process.housekeeping.to_close == {overdue.campaign_id: "expired"}


async def test_who_runs_one_campaign_leaves_all_others_alone(other: Connection, pool: Pool) -> None:
    """The other campaigns are left to a worker, or to runs of their own."""
    mine = await plant_campaign(other)
    for state in ("scheduled", "running", "cancelled"):
        await plant_campaign(other, state=state)
    await plant_campaign(other, state="paused", expires_at=datetime.now(UTC))
    process = Process(pool, mine.campaign_id)
    await process.refresh(other)
    assert process.cache.running == [mine.campaign_id]
    assert await states(other) == ["running", "scheduled", "running", "cancelled", "paused"]
    assert process.housekeeping.to_close == {}


@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("state", ["cancelled", "expired"])
async def test_an_end_that_was_cut_short_is_noticed_whoever_holds_its_ranges(
    other: Connection, process: Process, state: str, held: bool
) -> None:
    """Once it is a minute old: a younger one is probably still in progress, and two would wait for each other."""
    cut_short, young, complete = [(await plant_campaign(other, state=state)).campaign_id for _ in range(3)]
    await other.execute("UPDATE campaigns SET finished_at = now() WHERE campaign_id = $1", young)
    await other.execute("UPDATE ranges SET state = 'closed' WHERE campaign_id = $1", complete)
    if held:
        await other.execute("UPDATE ranges SET phone_number_id = $1", SLOW)
    await process.refresh(other)
    assert process.housekeeping.to_close == {cut_short: state}


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
    other: Connection, process: Process, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: Any) -> None:
        """As if the campaign was cancelled between the query and the event."""

    overdue = await plant_campaign(other, expires_at=datetime.now(UTC))
    with monkeypatch.context() as somebody:
        somebody.setattr(campaign_housekeeping, "apply_if_allowed", refused)
        await process.refresh(other)
    assert process.housekeeping.to_close == {}
    await process.refresh(other)
    assert process.housekeeping.to_close == {overdue.campaign_id: "expired"}


async def test_a_log_says_what_a_person_did_to_a_campaign(other: Connection, process: Process) -> None:
    """An operator reads there why nothing is sent, and since when."""
    campaign_id = (await plant_campaign(other)).campaign_id
    name = await other.fetchval("SELECT name FROM campaigns WHERE campaign_id = $1", campaign_id)
    with capture_logs() as lines:
        await process.refresh(other)
        for event, reason in (
            (CampaignEvent.PAUSE, "paused by hand"),
            (CampaignEvent.RESUME, ""),
            (CampaignEvent.CANCEL, "cancelled by hand"),
        ):
            await apply_event(other, campaign_id, event, reason)
            await process.refresh(other)
            await process.refresh(other)
    assert {line["campaign"] for line in lines} == {name}
    assert [(line["event"], line["reason"]) for line in lines] == [
        ("campaign_started", ""),
        ("campaign_paused", "paused by hand"),
        ("campaign_started", ""),
        ("campaign_cancelled", "cancelled by hand"),
    ]


def block(reason: str) -> Block | None:
    return Block(reason, ReasonCode.DISK_FULL) if reason else None


async def test_the_log_says_when_a_campaign_waits_and_when_it_continues(
    other: Connection, pool: Pool
) -> None:
    blocked_reason = ""
    process = Process(pool, None, lambda: block(blocked_reason))
    await plant_campaign(other)
    with capture_logs() as lines:
        for blocked_reason in ("", "the disk is full", "the disk is full", ""):  # noqa: B007 - the reader asks for it
            await process.refresh(other)
    assert [(line["event"], line["reason"]) for line in lines] == [
        ("campaign_started", ""),
        ("campaign_blocked", "waiting: the disk is full"),
        ("campaign_unblocked", ""),
    ]


async def test_a_campaign_that_waits_from_the_start_is_not_logged_as_running(
    other: Connection, pool: Pool
) -> None:
    blocked_reason = "the disk is full"
    await plant_campaign(other)
    for which in ("the first that sees it", "another one"):
        process = Process(pool, None, lambda: block(blocked_reason))
        with capture_logs() as lines:
            await process.refresh(other)
        assert [(line["event"], line["reason"]) for line in lines] == [
            ("campaign_blocked", "waiting: the disk is full")
        ], which


@pytest.mark.parametrize("by_us", [False, True])
async def test_a_campaign_that_has_just_ended_is_known_however_long_it_ran(
    other: Connection, process: Process, monkeypatch: pytest.MonkeyPatch, by_us: bool
) -> None:
    """Its claimed messages are still to be made, from its template in the cache."""
    monkeypatch.setattr(campaign_cache, "KNOWN_MAX", 1)
    longest, short = [(await plant_campaign(other)).campaign_id for _ in range(2)]
    await process.refresh(other)
    for campaign_id in (short, longest):
        await apply_event(other, campaign_id, CampaignEvent.PAUSE, "")
        if by_us:
            process.cache.end(campaign_id)
        await process.refresh(other)
    assert process.cache[longest].campaign_id == longest
    with pytest.raises(KeyError):
        process.cache[short]
