"""What a process knows of the running campaigns, as people and other processes move them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from structlog.testing import capture_logs

from engine import campaign_board
from engine.campaign_board import CampaignBoard
from engine.core.states import CampaignEvent
from engine.store.campaign_states import apply_event
from engine.store.database import Connection
from tests.flow.planted import campaign_row, plant_campaign


@pytest.fixture
async def board() -> CampaignBoard:
    return CampaignBoard("chat", None)


async def test_a_resume_outside_its_hours_says_again_that_the_campaign_waits(
    other: Connection, board: CampaignBoard
) -> None:
    now = datetime.now(UTC)
    closed = ((now + timedelta(hours=2)).time(), (now + timedelta(hours=3)).time())
    campaign_id = (await plant_campaign(other, window=closed)).campaign_id
    await board.refresh(other)
    waits = await campaign_row(other, campaign_id)
    assert waits[1].startswith("waiting: quiet hours until")
    await apply_event(other, campaign_id, CampaignEvent.PAUSE, "by hand")
    await board.refresh(other)
    await apply_event(other, campaign_id, CampaignEvent.RESUME, "")
    await board.refresh(other)
    assert await campaign_row(other, campaign_id) == waits


async def test_only_who_expires_a_campaign_closes_it(
    other: Connection, board: CampaignBoard, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refused(*_: Any) -> None:
        """Somebody cancelled it between the look and the word."""

    overdue = await plant_campaign(other, expires_at=datetime.now(UTC))
    with monkeypatch.context() as somebody:
        somebody.setattr(campaign_board, "apply_if_allowed", refused)
        await board.refresh(other)
    assert board.to_close == {}
    await board.refresh(other)
    assert board.to_close == {overdue.campaign_id: "expired"}


async def test_a_log_says_what_a_person_did_to_a_campaign(other: Connection, board: CampaignBoard) -> None:
    """Who is called at night reads there why nothing is sent, and since when."""
    campaign_id = (await plant_campaign(other)).campaign_id
    name = await other.fetchval("SELECT name FROM campaigns WHERE campaign_id = $1", campaign_id)
    with capture_logs() as lines:
        await board.refresh(other)
        for event, reason in (
            (CampaignEvent.PAUSE, "paused by hand"),
            (CampaignEvent.RESUME, ""),
            (CampaignEvent.CANCEL, "cancelled by hand"),
        ):
            await apply_event(other, campaign_id, event, reason)
            await board.refresh(other)
            await board.refresh(other)
    assert {line["campaign"] for line in lines} == {name}
    assert [(line["event"], line["reason"]) for line in lines] == [
        ("campaign_runs", ""),
        ("campaign_paused", "paused by hand"),
        ("campaign_runs", ""),
        ("campaign_cancelled", "cancelled by hand"),
    ]


async def test_a_log_says_that_a_campaign_waits_and_that_it_goes_on(other: Connection) -> None:
    hindrance = ""
    board = CampaignBoard("chat", None, lambda: hindrance)
    await plant_campaign(other)
    with capture_logs() as lines:
        for hindrance in ("", "the disk is full", "the disk is full", ""):  # noqa: B007 - the board reads it
            await board.refresh(other)
    assert [(line["event"], line["reason"]) for line in lines] == [
        ("campaign_runs", ""),
        ("campaign_waits", "waiting: the disk is full"),
        ("campaign_goes_on", ""),
    ]


@pytest.mark.parametrize("by_us", [False, True])
async def test_a_campaign_that_has_just_ended_is_known_however_long_it_ran(
    other: Connection, board: CampaignBoard, monkeypatch: pytest.MonkeyPatch, by_us: bool
) -> None:
    """What is claimed of it is still to be sent: the board is asked for its template."""
    monkeypatch.setattr(campaign_board, "KNOWN_MAX", 1)
    longest, short = [(await plant_campaign(other)).campaign_id for _ in range(2)]
    await board.refresh(other)
    for campaign_id in (short, longest):
        await apply_event(other, campaign_id, CampaignEvent.PAUSE, "")
        if by_us:
            board.paused(campaign_id)
        await board.refresh(other)
    assert board[longest].campaign_id == longest
    with pytest.raises(KeyError):
        board[short]
