"""Events about templates, numbers and accounts are acted on once, in their order."""

from itertools import permutations
from typing import Any

import orjson
import pytest

from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.queries import queries
from drumbeat.engine.webhooks import account
from drumbeat.engine.webhooks.account import act
from drumbeat.engine.webhooks.body_group import BodyGroup, write
from tests.kit.account_events import plant_template, store_event, store_template_event, template_body
from tests.kit.planted import FIRST_RANGE, NUMBER, plant_campaign
from tests.webhooks.conversation import PRODUCT, change_body


async def campaign_row(connection: Connection, campaign: int) -> tuple[str, str]:
    row = await connection.fetchrow("SELECT state, reason FROM campaigns WHERE campaign_id = $1", campaign)
    return row["state"], row["reason"]


@pytest.mark.parametrize("event", ["PAUSED", "DISABLED", "REJECTED"])
async def test_a_stopped_template_pauses_its_campaigns_in_words(connection: Connection, event: str) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection)
    await store_template_event(connection, event, reason="NONE")
    assert await act(connection) == 1
    assert await act(connection) == 0
    state, reason = await campaign_row(connection, campaign)
    assert (state, reason) == ("paused", f"template offer (pt_BR) was {event.lower()} by the service")
    assert await connection.fetchval("SELECT status FROM templates") == event


async def test_one_acts_at_a_time(connection: Connection, other: Connection) -> None:
    """Two processes would act on the events about one template in any order."""
    await store_template_event(connection, "PAUSED")
    async with other.transaction():
        assert await other.fetchval(queries("inbox")["act_lock"])
        assert await act(connection) == 0
    assert await act(connection) == 1


async def test_who_is_killed_while_acting_acts_on_it_again(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection)
    await store_template_event(connection, "PAUSED")

    async def cut(*_: Any) -> list[int]:
        raise ConnectionResetError

    with monkeypatch.context() as patch, pytest.raises(ConnectionResetError):
        patch.setattr(account, "pause_campaigns_of_template", cut)
        await act(connection)
    assert await connection.fetchval("SELECT status FROM templates") == "APPROVED"
    assert await act(connection) == 1
    assert (await campaign_row(connection, campaign))[0] == "paused"


async def test_another_language_is_another_template(connection: Connection) -> None:
    """Interface: name and language are the key, `en` and `en_US` are different templates."""
    for language in ("pt_BR", "pt"):
        await plant_template(connection, language)
    campaign = await plant_campaign(connection)
    await store_template_event(connection, "PAUSED", "pt")
    assert await act(connection) == 1
    assert (await campaign_row(connection, campaign))[0] == "running"
    rows = await connection.fetch("SELECT language, status FROM templates")
    assert {tuple(row) for row in rows} == {("pt_BR", "APPROVED"), ("pt", "PAUSED")}


async def test_a_stopped_template_keeps_a_scheduled_campaign_from_starting(connection: Connection) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection, state="scheduled")
    await store_template_event(connection, "REJECTED", reason="ABUSIVE_CONTENT")
    await act(connection)
    state, reason = await campaign_row(connection, campaign)
    assert (state, reason.rpartition("by the service")[2]) == ("paused", ": ABUSIVE_CONTENT")


async def test_approval_changes_only_the_template(connection: Connection) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection, state="paused")
    await store_template_event(connection, "APPROVED")
    assert await act(connection) == 1
    assert (await campaign_row(connection, campaign))[0] == "paused"


async def test_a_repetition_is_not_acted_on_but_news_is(connection: Connection) -> None:
    await plant_template(connection)
    for event, acts in (("PAUSED", 1), ("PAUSED", 0), ("APPROVED", 1), ("PAUSED", 1), ("PAUSED", 0)):
        await store_template_event(connection, event)
        assert await act(connection) == acts
    assert await connection.fetchval("SELECT status FROM templates") == "PAUSED"


@pytest.mark.parametrize(
    ("stored", "together", "acts"),
    [
        (["PAUSED"], ["APPROVED", "PAUSED"], 2),
        (["APPROVED", "PAUSED"], ["APPROVED", "PAUSED"], 2),  # repeated, without a date
        (["PAUSED"], ["PAUSED", "APPROVED", "PAUSED"], 2),
        (["PAUSED"], ["PAUSED", "PAUSED"], 0),
    ],
)
async def test_news_may_come_together_with_what_makes_it_news(
    connection: Connection, stored: list[str], together: list[str], acts: int
) -> None:
    await plant_template(connection)
    for event in stored:
        await store_template_event(connection, event)
    await act(connection)
    group = BodyGroup(PRODUCT)
    for event in together:
        group.add(template_body(event))
    await write(connection, group)
    assert await act(connection) == acts
    assert await connection.fetchval("SELECT status FROM templates") == "PAUSED"


async def test_a_dated_event_that_comes_late_changes_nothing(connection: Connection) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection)
    await store_template_event(connection, "APPROVED", time=1780000100)
    await store_template_event(connection, "PAUSED", time=1780000000)
    await store_template_event(connection, "APPROVED", time=1780000100)
    assert await act(connection) == 2
    assert (await campaign_row(connection, campaign))[0] == "running"


async def test_a_dated_event_is_acted_on_once_whatever_came_between(connection: Connection) -> None:
    """Otherwise a repeated event would pause again a campaign that a person resumed."""
    await plant_template(connection)
    for event, time, acts in (
        ("PAUSED", 1780000100, 1),
        ("APPROVED", 1780000000, 1),
        ("PAUSED", 1780000100, 0),
    ):
        await store_template_event(connection, event, time=time)
        assert await act(connection) == acts


async def test_news_of_another_template_makes_no_news_of_a_repetition(connection: Connection) -> None:
    """Otherwise it would pause again a campaign that a person resumed."""
    for event, language, acts in (("PAUSED", "pt_BR", 1), ("APPROVED", "pt", 1), ("PAUSED", "pt_BR", 0)):
        await store_template_event(connection, event, language)
        assert await act(connection) == acts


async def test_an_event_repeated_with_a_later_date_is_new(connection: Connection) -> None:
    await plant_template(connection)
    for event, time in (("PAUSED", 1780000000), ("APPROVED", 1780000100), ("PAUSED", 1780000200)):
        await store_template_event(connection, event, time=time)
        assert await act(connection) == 1
    assert await connection.fetchval("SELECT status FROM templates") == "PAUSED"


async def test_a_later_event_about_another_template_hides_nothing(connection: Connection) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection)
    await store_template_event(connection, "PAUSED", time=1780000000)
    await store_template_event(connection, "APPROVED", "pt", time=1780000100)
    assert await act(connection) == 2
    assert (await campaign_row(connection, campaign))[0] == "paused"


async def test_events_that_waited_are_acted_on_in_their_order(connection: Connection) -> None:
    await plant_template(connection)
    for event in ("PAUSED", "APPROVED", "DISABLED"):
        await store_template_event(connection, event)
    assert await act(connection) == 3
    assert await connection.fetchval("SELECT status FROM templates") == "DISABLED"


@pytest.mark.parametrize(
    "events",
    [*permutations(("PAUSED", "APPROVED", "DISABLED")), ("PAUSED", "APPROVED", "PAUSED")],
    ids=" ".join,
)
async def test_events_that_are_committed_together_are_acted_on_in_their_order(
    connection: Connection, events: tuple[str, ...]
) -> None:
    await plant_template(connection)
    value = {"message_template_name": "offer", "message_template_language": "pt_BR"}
    group = BodyGroup(PRODUCT)
    for event in events:
        group.add(change_body("message_template_status_update", {"event": event, **value}))
    await write(connection, group)
    assert await act(connection) == len(set(events))
    assert await connection.fetchval("SELECT status FROM templates") == events[-1]


async def test_an_event_of_one_number_says_nothing_of_another(connection: Connection) -> None:
    await plant_campaign(connection)
    await connection.execute(
        "INSERT INTO numbers (phone_number_id, display_phone_number) VALUES ('2', '+55 11 4000-0001')"
    )
    await connection.execute("UPDATE numbers SET synced_at = now(), messaging_limit_tier = 'TIER_1K'")
    value = {"display_phone_number": "+55 11 4000 0001", "event": "FLAGGED"}
    await store_event(connection, "phone_number_quality_update", value | {"current_limit": "unknown word"})
    assert await act(connection) == 1
    rows = await connection.fetch(
        "SELECT phone_number_id, messaging_limit_tier, synced_at IS NULL FROM numbers"
    )
    assert {tuple(row) for row in rows} == {(NUMBER, "TIER_1K", False), ("2", "TIER_1K", True)}
    await store_event(connection, "phone_number_quality_update", {"event": "FLAGGED"})  # of any of them
    assert await act(connection) == 1
    assert await connection.fetchval("SELECT count(synced_at) FROM numbers") == 0


@pytest.mark.parametrize(
    ("limit", "stored", "known"),
    [("TIER_2K", "TIER_2K", "TIER_2K"), ("TIER_NEW", "TIER_NEW", "TIER_1K"), (None, "TIER_1K", "TIER_1K")],
)
async def test_the_messaging_limit_of_an_event_is_kept_and_what_is_not_understood_leaves_the_known_one(
    connection: Connection, limit: str | None, stored: str, known: str
) -> None:
    await plant_campaign(connection)
    await connection.execute(
        "UPDATE numbers SET messaging_limit_tier = 'TIER_1K', known_tier = 'TIER_1K', rests_for_quota = true,"
        " suspended_until = now() + interval '1 hour'"
    )
    value = {"display_phone_number": "551140000000", "event": "UPGRADE", "current_limit": limit}
    await store_event(connection, "phone_number_quality_update", value)
    assert await act(connection) == 1
    row = await connection.fetchrow(
        "SELECT messaging_limit_tier, known_tier, suspended_until IS NULL FROM numbers"
    )
    assert row is not None and tuple(row) == (stored, known, known == "TIER_2K"), "a new limit ends the rest"


async def test_events_of_numbers_mark_them_outdated(connection: Connection) -> None:
    await plant_campaign(connection)
    await connection.execute("UPDATE numbers SET synced_at = now(), messaging_limit_tier = 'TIER_1K'")
    value = {"display_phone_number": "551140000000", "event": "UPGRADE", "current_limit": "TIER_10K"}
    await store_event(connection, "phone_number_quality_update", value)
    assert await act(connection) == 1
    assert tuple(await connection.fetchrow("SELECT messaging_limit_tier, synced_at FROM numbers")) == (
        "TIER_10K",
        None,
    )
    for field in ("account_update", "account_alerts", "business_capability_update"):
        await connection.execute("UPDATE numbers SET synced_at = now()")
        await store_event(connection, field, {"event": "ACCOUNT_RESTRICTION"})
        assert await act(connection) == 1
        assert await connection.fetchval("SELECT synced_at FROM numbers") is None
    await connection.execute("UPDATE numbers SET synced_at = now()")
    await store_event(connection, "something_new", {"a": [1]})
    assert await act(connection) == 1
    assert await connection.fetchval("SELECT synced_at FROM numbers") is not None
    kept = await connection.fetchval("SELECT value FROM account_events WHERE field = 'something_new'")
    assert (orjson.loads(kept) if isinstance(kept, str) else kept) == {"a": [1]}


@pytest.mark.parametrize("field", ["message_template_status_update", "message_template_components_update"])
async def test_any_event_about_a_template_has_it_compared_with_its_campaigns(
    connection: Connection, field: str
) -> None:
    await plant_template(connection)
    await plant_template(connection, "es")
    value = {"event": "APPROVED", "message_template_name": "offer", "message_template_language": "pt_BR"}
    await store_event(connection, field, value)
    assert await act(connection) == 1
    rows = await connection.fetch("SELECT language FROM templates WHERE compare_at <= now()")
    assert [row["language"] for row in rows] == ["pt_BR"]


async def test_a_language_that_stops_pauses_campaigns_in_which_somebody_gets_it(
    connection: Connection,
) -> None:
    await plant_template(connection)
    campaigns = [await plant_campaign(connection, first_range=FIRST_RANGE + at) for at in range(2)]
    for campaign, recipients in zip(campaigns, (3, 0), strict=True):
        others = [{"name": "offer", "language": "pt_BR", "recipients": recipients}]
        await connection.execute(
            "UPDATE campaigns SET template = $2 WHERE campaign_id = $1",
            campaign,
            {"name": "offer", "language": "en", "recipients": 5, "others": others},
        )
    await store_template_event(connection, "PAUSED")
    assert await act(connection) == 1
    states = [(await campaign_row(connection, campaign))[0] for campaign in campaigns]
    assert states == ["paused", "running"]
