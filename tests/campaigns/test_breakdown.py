"""A report by a property: every recipient in one line, with what became of the message and what was answered."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest

from drumbeat.campaigns.cli.breakdown_text import headings, row
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.prices import Price
from drumbeat.campaigns.results.breakdown import By, Line, breakdown
from drumbeat.campaigns.results.replies import reply_pages
from drumbeat.engine.core.pricing import pricing_code
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience

NOON = datetime(2026, 7, 1, 12, 30, tzinfo=UTC)
MARKETING = pricing_code({"category": "marketing", "billable": True})
FREE = pricing_code({"category": "marketing", "billable": False})
PRICES = {("BR", "MARKETING"): Price(Decimal("0.05"), "EUR", date(2026, 1, 1))}
GERMAN = 4930901820


@pytest.fixture
async def campaign_id(ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience) -> int:
    """One German and five Brazilian phones: read, delivered, failed twice, accepted; one not yet claimed."""
    phones = [GERMAN, *(PHONE + n for n in range(5))]
    path = write_audience("phone,name,order\n" + "".join(f"{phone},A,B\n" for phone in phones))
    spec = CampaignSpec(
        name="spring",
        template="order",
        language="en",
        audience=path,
        number=["1001"],
        param=["name", "order"],
    )
    created = await create_campaign(ready, spec)
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason,"
        " attempted_at, delivered_at, read_at, pricing) SELECT range_id, seq, 1, 1, kind, status, number, 'w' || line, code,"
        " code::text, $1::timestamptz + hours * interval '1 hour', $1::timestamptz + delivery * interval '1 s',"
        " $1::timestamptz + reading * interval '1 s', pricing FROM recipients JOIN (VALUES"
        " (2, 1, 5, '1001', NULL::integer, 0, 10, 100, $2::integer), (3, 1, 4, '1001', NULL, 0, 20, NULL, $2),"
        " (4, 2, NULL, '1002', 131026, 1, NULL, NULL, NULL), (5, 1, 3, '1002', 131049, 1, NULL, NULL, NULL),"
        " (6, 1, 1, '1002', NULL, 0, NULL, NULL, $3::integer))"
        " AS planted (n, kind, status, number, code, hours, delivery, reading, pricing) ON line = n",
        NOON,
        MARKETING,
        FREE,
    )
    await pool.execute("UPDATE ranges SET claimed_through = 5")
    for wamid, sender, minutes, body in (
        ("r1", str(GERMAN), 5, {"text": {"body": "quoted"}, "context": {"id": "w2"}}),
        ("r2", str(PHONE), 6, {"button": {"text": "Yes"}}),
        ("r3", str(PHONE), -60, {"text": {"body": "before"}}),
        ("r4", str(PHONE + 1), 8 * 24 * 60, {"text": {"body": "too late"}}),
        ("r5", str(PHONE + 2), 6, {"text": {"body": "of another"}, "context": {"id": "elsewhere"}}),
        ("r6", "31612345678", 6, {"text": {"body": "a stranger"}}),
    ):
        await pool.execute(
            "INSERT INTO incoming_messages (wamid, sender, type, sent_at, body) VALUES ($1, $2, 'text', $3, $4)",
            *(wamid, sender, NOON + timedelta(minutes=minutes), body),
        )
    return created.campaign_id


@pytest.mark.parametrize(
    ("by", "expected"),
    [
        (By.STATE, {"pending": 1, "accepted": 1, "delivered": 1, "read": 1, "failed": 2}),
        (By.CODE, {"": 4, "131026": 1, "131049": 1}),
        (By.COUNTRY, {"BR": 5, "DE": 1}),
        (By.NUMBER, {"1002": 3, "1001": 2, "": 1}),
        (By.HOUR, {"": 1, "2026-07-01 12:00": 3, "2026-07-01 13:00": 2}),
        (By.LANGUAGE, {"en": 6}),
        (By.VARIANT, {"": 6}),
    ],
)
async def test_everybody_is_in_one_line(
    pool: Pool, campaign_id: int, by: By, expected: dict[str, int]
) -> None:
    lines = await breakdown(pool, campaign_id, by)
    assert {line.key: line.recipients for line in lines} == expected
    assert sum(line.replied for line in lines) == 2
    assert sum(line.billable.total() for line in lines) == 2
    assert sum(line.free for line in lines) == 1


async def test_states_come_in_their_order_and_others_by_size(pool: Pool, campaign_id: int) -> None:
    states = [line.key for line in await breakdown(pool, campaign_id, By.STATE)]
    assert states == [state for state in RecipientState if state in states]
    assert [line.key for line in await breakdown(pool, campaign_id, By.COUNTRY)] == ["BR", "DE"]


async def test_a_line_has_times_replies_and_cost(pool: Pool, campaign_id: int) -> None:
    brazil, germany = await breakdown(pool, campaign_id, By.COUNTRY, with_countries=True)
    assert (germany.replied, brazil.replied) == (1, 1)
    shown = germany.as_json(By.COUNTRY, PRICES)
    assert shown["delivery_s"]["p50"] == pytest.approx(10, rel=0.05)
    assert shown["read_s"]["p99"] == pytest.approx(100, rel=0.05)
    assert (shown["cost"], shown["unpriced"]) == ({}, {"DE": 1})
    assert brazil.as_json(By.COUNTRY, PRICES)["cost"] == {"EUR": "0.05"}
    cells = dict(zip(headings(By.COUNTRY, PRICES), row(brazil, By.COUNTRY, PRICES), strict=True))
    assert (cells["RECIPIENTS"], cells["ACCEPTED"], cells["FAILED"], cells["WAITING"]) == ("5", "2", "2", "1")
    assert (cells["DELIVERED IN"], cells["COST"]) == ("20 s / 20 s", "0.05 EUR")


async def test_answers_are_listed_in_the_order_of_the_audience(pool: Pool, campaign_id: int) -> None:
    found = [reply async for page in reply_pages(pool, campaign_id) for reply in page]
    assert [(reply[0], reply[3], reply[4], reply[5]) for reply in found] == [
        (f"+{GERMAN}", "quoted", "w2", "r1"),
        (f"+{PHONE}", "Yes", None, "r2"),
    ]


def test_a_line_of_nobody_has_no_times() -> None:
    assert Line("x").as_json(By.NUMBER, None)["delivery_s"] is None


async def test_the_replies_of_a_person_are_found_by_the_person(pool: Pool, campaign_id: int) -> None:
    """Not among the messages of everybody in a week: a report asks for each recipient."""
    await pool.execute(
        "INSERT INTO incoming_messages (wamid, sender, type, sent_at, body)"
        " SELECT 'm' || n, (4915000000 + n)::text, 'text', now() - n * interval '1 s', '{}' FROM generate_series(1, 2000) AS n"
    )
    await pool.execute("ANALYZE incoming_messages")
    plan = await pool.fetch(
        "EXPLAIN SELECT EXISTS (SELECT FROM replies_to(phone, wamid, attempted_at)) FROM recipient_states"
    )
    text = "\n".join(row[0] for row in plan)
    assert "incoming_messages_sender" in text and "incoming_messages_sent " not in text, text
