"""Why a campaign stands as it does, in words: with plain values, and as status, list and command say it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from drumbeat.campaigns.cli.status_text import status_lines
from drumbeat.campaigns.life import control as service
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.campaign_pages import campaign_page, campaigns_that_need_a_person, whys_of
from drumbeat.campaigns.results.number_progress import NumberProgress, WaitingGroup
from drumbeat.campaigns.results.status import campaign_status
from drumbeat.campaigns.results.why import Person, explain, reason_in_words
from drumbeat.campaigns.texts import Texts, words_of
from drumbeat.engine.core.states import CampaignState, ReasonCode
from drumbeat.engine.store.database import Pool

NOON = datetime(2026, 3, 2, 12, 4, tzinfo=UTC)
NUMBER = NumberProgress("1", 80.0, 80.0, "me", 0, 0, None, False, None, None, display_phone_number="+55 11 1")
USED_UP = replace(NUMBER, quota_limit=1_000, quota_used=1_000, quota_more_at=NOON)
SLOWED = replace(NUMBER, rate_per_s=42.4, slowed_since=NOON)
RUNNING, PAUSED = CampaignState.RUNNING, CampaignState.PAUSED
HOURS = "quiet hours until 09:00 America/Sao_Paulo"


@pytest.mark.parametrize(
    ("reason", "code", "numbers", "words"),
    [
        ("", None, [NUMBER], []),
        (f"waiting: {HOURS}", ReasonCode.RECIPIENT_HOURS, [NUMBER], ["waits: quiet hours in Sao Paulo until 09:00"]),
        (
            "waiting: quiet hours in one of 3 time zones until 2026-03-02 12:04 UTC", ReasonCode.WINDOW_CLOSED, [NUMBER],
            ["waits: quiet hours in one of 3 time zones until 2026-03-02 12:04 UTC"],
        ),
        (
            "waiting: messaging limit: …", ReasonCode.MESSAGING_LIMIT, [USED_UP, SLOWED],
            ["waits for the messaging limit of +55 11 1: 1,000 of 1,000 people in 24 hours, continues at 2026-03-02 12:04 UTC"],
        ),
        (
            "waiting: messaging limit: …", ReasonCode.MESSAGING_LIMIT, [USED_UP, USED_UP],
            ["waits for the messaging limits of its 2 numbers, continues at 2026-03-02 12:04 UTC"],
        ),
        (
            "", None, [NUMBER, USED_UP],
            ["+55 11 1 has used up its messaging limit: 1,000 of 1,000 people in 24 hours, continues at 2026-03-02 12:04 UTC"],
        ),
        ("", None, [SLOWED], ["slowed: the service throttles +55 11 1 since 2026-03-02 12:04 UTC, now 42/s of 80/s"]),
        (
            "", None, [replace(NUMBER, suspended_until=NOON, suspended_reason="throttled (130429)")],
            ["+55 11 1 rests until 2026-03-02 12:04 UTC: throttled (130429)"],
        ),
        (
            "", None, [replace(SLOWED, stopped=True, suspended_reason="locked (131031)")],
            ["+55 11 1 is stopped until a person lets it send again: locked (131031)"],
        ),
    ],
)  # fmt: skip
def test_a_running_campaign_says_what_keeps_it(
    reason: str, code: ReasonCode | None, numbers: list[NumberProgress], words: list[str]
) -> None:
    found = explain(RUNNING, reason, code, numbers)
    assert [why.words for why in found] == words
    assert [why.is_reason for why in found] == [code is not None] * len(words)


def test_some_recipients_wait_while_others_are_sent_to() -> None:
    groups = [
        WaitingGroup(HOURS, None, NOON, 1_200),
        WaitingGroup("quiet hours until Mon 09:00 Asia/Tokyo", None, NOON, 2),
    ]
    found = explain(RUNNING, "", None, [NUMBER], groups)
    assert [why.words for why in found] == [
        "1,200 recipients wait: quiet hours in Sao Paulo until 09:00",
        "2 recipients wait: quiet hours in Tokyo until Mon 09:00",
    ]
    assert (
        found[1]
        .in_words(Texts("de", words_of("drumbeat.campaigns.console.texts", "de")))
        .endswith("bis Mo 09:00")
    )


def test_a_number_that_does_not_send_for_it_now_explains_no_pause() -> None:
    assert explain(PAUSED, "x", ReasonCode.TEMPLATE_REFUSED, [SLOWED, USED_UP]) == []


def test_a_time_of_today_has_no_date() -> None:
    at = datetime.now(UTC) - timedelta(minutes=3)
    (why,) = explain(PAUSED, "paused by hand", ReasonCode.PAUSED_BY_HAND, [], stopped_by=Person("ana", at))
    assert why.words == f"ana paused it at {at:%H:%M} UTC"


@pytest.fixture
async def spring(pool: Pool, ready: str, spec: CampaignSpec) -> int:
    """A campaign that runs, with a number of tier 1K that the service throttles."""
    await create_campaign(ready, spec)
    await pool.execute("UPDATE campaigns SET state = 'running', started_at = now()")
    await pool.execute(
        "UPDATE numbers SET owner = 'me', released = false, rate_per_s = 40, leased_until = 'infinity',"
        " display_phone_number = '+55 11 ' || phone_number_id,"
        " slowed_since = CASE WHEN phone_number_id = (SELECT min(phone_number_id) FROM numbers) THEN now() END"
    )
    return int(await pool.fetchval("SELECT campaign_id FROM campaigns"))


async def test_a_number_that_the_run_of_another_campaign_has_is_told(
    pool: Pool, ready: str, spec: CampaignSpec, spring: int
) -> None:
    await create_campaign(ready, replace(spec, name="autumn"))
    other = await pool.fetchval("SELECT campaign_id FROM campaigns WHERE name = 'autumn'")
    await pool.execute("UPDATE numbers SET slowed_since = NULL, only_campaign = $1", other)
    (held, *_) = (await campaign_status(pool, spring)).why
    assert held.words.startswith("waits for +55 11 ") and "a run of autumn (me) has it" in held.words
    assert not (await campaign_status(pool, other)).why
    async with pool.acquire() as connection:
        change = await service.start(connection, (await campaign_status(pool, spring)).name)
    assert {each.campaign for each in change.held_numbers} == {"autumn"}
    await pool.execute("UPDATE numbers SET leased_until = now()")
    assert "held" not in [why.code for why in (await campaign_status(pool, spring)).why]


async def test_status_and_list_say_the_same(pool: Pool, spring: int) -> None:
    status = await campaign_status(pool, spring)
    (words,) = [why["words"] for why in status.as_json()["why"]]
    assert words.startswith("slowed: the service throttles +55 11 ")
    assert words in status_lines(status)
    async with pool.acquire() as connection:
        listed = (await campaign_page(connection)).campaigns[0]
        assert [why.words for why in listed.why] == [words] and not listed.needs_person

        await service.pause(connection, status.name, actor="ana")
        status = await campaign_status(pool, spring)
        assert status.reason_in_words.startswith("ana paused it at ")
        whys = await whys_of(connection, await service.list_campaigns(connection))
        assert reason_in_words(whys[spring], "paused by hand") == status.reason_in_words
        assert next(status_lines(status)) == f"{status.name}: paused ({status.reason_in_words})"
        assert [why.words for why in (await campaign_page(connection)).campaigns[0].why] == [
            status.reason_in_words
        ]


async def test_doubts_that_were_settled_need_nobody(pool: Pool, spring: int) -> None:
    await pool.execute(
        "UPDATE campaigns SET state = 'finished', finished_at = now(), reason = '1 in doubt', reason_code = 'in_doubt'"
    )
    await pool.execute("UPDATE range_counters SET unknown = 1")
    async with pool.acquire() as connection:
        assert [each.campaign_id for each in await campaigns_that_need_a_person(connection)] == [spring]
        await pool.execute("UPDATE range_counters SET unknown = 0, accepted = 1")
        assert await campaigns_that_need_a_person(connection) == []
        (listed,) = (await campaign_page(connection)).campaigns
        assert (listed.reason, listed.reason_code, listed.needs_person) == ("", None, False)


async def test_who_needs_a_person_is_found_on_any_page(pool: Pool, spring: int) -> None:
    await pool.execute(
        "UPDATE campaigns SET state = 'paused', reason_code = 'template_refused', reason = 'paused (132015)'"
    )
    async with pool.acquire() as connection:
        assert (await campaign_page(connection, before=spring)).campaigns == []
        await connection.execute(
            "INSERT INTO campaigns OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(campaigns, jsonb_build_object("
            " 'campaign_id', campaign_id + n, 'name', 'other-' || n, 'state', 'running', 'reason_code', NULL,"
            " 'content_hash', 'of-' || n))).* FROM campaigns, generate_series(1, 60) AS n"
        )
        (needy,) = await campaigns_that_need_a_person(connection)
        assert (needy.campaign_id, needy.reason) == (spring, "paused (132015)")
