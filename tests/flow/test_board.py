"""What a process knows of the running campaigns, as people and other processes move them."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

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
