"""One person is found by any spelling over all campaigns, and after being forgotten by none."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from drumbeat.campaigns.cli.person_text import person_lines, receipt_lines
from drumbeat.campaigns.life.control import pause, start
from drumbeat.campaigns.life.forget import ForgetReceipt, forget_person
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.export import COLUMNS, export_rows
from drumbeat.campaigns.results.person import events, read_person, read_spellings
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.phone_aliases import CHANGES, canonical_phones, phone_aliases
from drumbeat.engine.core.tag import Tag
from drumbeat.engine.errors import TryLater, UsageError
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.status_applier import apply_statuses
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.core.test_phone_aliases import RENUMBERED
from tests.kit.planted import installation, put_in_inbox, status_event
from tests.kit.rows import suppress
from tests.sending.planted import assert_range_counters_hold

NOON = datetime(2026, 7, 1, 12, 0, 0, 500_000, UTC)
PERSON, SHORT = 5491123456789, 541123456789
SPELLINGS = (PERSON, SHORT)


@pytest.fixture
async def in_two_campaigns(ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience) -> None:
    """In the first the message was delivered and answered; in the second, under the other spelling, it waits."""
    audience = write_audience(f"phone,name,order\n{PERSON},Eva,A1\n{PHONE},Bob,A2\n")
    await create_campaign(ready, replace(spec, audience=audience, number=["1001"]))
    audience = write_audience(f"phone,name,order\n{SHORT},Ada,B1\n{PHONE + 1},Ben,B2\n", "second.csv")
    await create_campaign(ready, replace(spec, name="summer", audience=audience, number=["1001"]))
    await pool.execute("UPDATE ranges SET claimed_through = last_seq WHERE campaign_id = 1 AND ordinal = 0")
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason, attempted_at,"
        " sent_at, delivered_at) SELECT range_id, seq, attempt_no, 1, kind, status, '1001', wamid, code, reason, at, sent, sent + '2 s'::interval"
        " FROM ranges, (VALUES (1, 1, 2, NULL, NULL, 131000, '131000', $1::timestamptz - '1 h'::interval, NULL),"
        " (1, 2, 1, 4, 'wamid.' || $2, NULL, NULL, $1, date_trunc('second', $1)))"
        " AS planted (seq, attempt_no, kind, status, wamid, code, reason, at, sent) WHERE campaign_id = 1 AND ordinal = 0",
        NOON,
        str(PERSON),
    )
    await pool.execute(
        "UPDATE range_counters SET delivered = 1 WHERE campaign_id = 1 AND range_id IN (SELECT range_id FROM outcomes)"
    )
    await pool.execute(
        "INSERT INTO incoming_messages (wamid, phone_number_id, sender, type, sent_at, body) VALUES ('wamid.reply', '1001', $1, 'text',"
        " $2, $3)",
        str(SHORT),
        NOON + timedelta(minutes=1),
        {"from": str(SHORT), "text": {"body": "Yes please"}, "context": {"id": f"wamid.{PERSON}"}},
    )


@pytest.mark.parametrize(
    ("text", "region"),
    [
        (f"+{PHONE}", None),
        (f"00{PHONE}", "DE"),
        (f"+{str(PHONE)[:2]} ({str(PHONE)[2:4]}) {str(PHONE)[4:]}", None),
        (f"0{str(PHONE)[2:]}", "BR"),
        (str(PHONE)[2:], "br"),
    ],
)
def test_any_spelling_names_the_same_phone(text: str, region: str | None) -> None:
    assert read_spellings(text, region) == phone_aliases(str(PHONE))


def test_a_national_number_needs_its_country() -> None:
    with pytest.raises(UsageError, match="region"):
        read_spellings(str(PHONE)[2:], None)


@pytest.mark.parametrize("phone", SPELLINGS)
async def test_everything_of_a_person_is_shown_in_order(
    connection: Connection, in_two_campaigns: None, phone: int
) -> None:
    person = await read_person(connection, phone_aliases(str(phone)))
    assert [(one.campaign, one.state, one.line) for one in person.campaigns] == [
        ("spring", "delivered", 2),
        ("summer", "pending", 2),
    ]
    assert [attempt.outcome for attempt in person.campaigns[0].attempts] == ["refused", "accepted"]
    told = [(event.campaign, event.what) for event in events(person) if "planned" not in event.what]
    assert told == [
        ("spring", "attempt 1 by 1001, refused: 131000 the service reported a failure of its own"),
        ("spring", "attempt 2 by 1001, accepted"),
        ("spring", "sent"),  # by its clock, which has whole seconds, before the attempt
        ("spring", "delivered"),
        ("", "wrote (text): Yes please"),
    ]
    assert f"+{phone}, also +{sum(SPELLINGS) - phone}" in list(person_lines(person))


async def test_the_filter_is_asked_and_not_the_table(connection: Connection, in_two_campaigns: None) -> None:
    await connection.execute("SET enable_seqscan = off; SET enable_bitmapscan = on")
    plan = await connection.fetch(
        "EXPLAIN SELECT range_id FROM recipients WHERE phone = 5491123456789 OR phone = 541123456789"
    )
    text = "\n".join(row[0] for row in plan)
    assert "Bitmap Index Scan on recipients_" in text
    assert "Seq Scan" not in text


async def traces(connection: Connection) -> list[str]:
    """Tables with a row that holds a spelling of the phone, or a word of the person."""
    tables = await connection.fetch(
        "SELECT relname FROM pg_class WHERE relkind = 'r' AND NOT relispartition AND relnamespace = 'public'::regnamespace"
        " UNION SELECT relname FROM pg_class WHERE relkind = 'p'"
    )
    pattern = "|".join([*map(str, SPELLINGS), "Yes please", "Eva", "Ada"])
    return [
        name
        for (name,) in tables
        if await connection.fetchval(f'SELECT EXISTS (SELECT FROM "{name}" AS t WHERE t::text ~ $1)', pattern)
    ]


async def test_nothing_of_a_forgotten_person_is_left_and_counts_add_up(
    connection: Connection, in_two_campaigns: None
) -> None:
    await connection.execute(
        "INSERT INTO unreadable_events (event_key, body, problem) VALUES ('k', convert_to($1, 'UTF8'), 'x')",
        f'{{"from": "{SHORT}"}}',
    )
    await connection.execute("INSERT INTO quota_scopes VALUES ('1', 2)")
    await connection.executemany(
        "INSERT INTO quota_people VALUES ('1', $1, now(), 1, 1, 1)", [[phone] for phone in SPELLINGS]
    )
    before = await connection.fetch(
        "SELECT campaign_id, sum(recipients) FROM range_counters GROUP BY 1 ORDER BY 1"
    )
    assert set(await traces(connection)) == {"recipients", "outcomes", "incoming_messages", "quota_people"}

    receipt = await forget_person(connection, SPELLINGS, actor="ana")

    assert (receipt.recipients, receipt.attempts, receipt.messages, receipt.events) == (2, 2, 1, 1)
    assert (receipt.campaigns, receipt.skipped, receipt.suppressed) == (("spring", "summer"), 1, False)
    assert await traces(connection) == []
    await assert_range_counters_hold(connection)
    assert before == await connection.fetch(
        "SELECT campaign_id, sum(recipients) FROM range_counters GROUP BY 1 ORDER BY 1"
    )
    audit = await connection.fetchrow("SELECT actor, detail FROM audit WHERE action = 'person-forget'")
    assert audit is not None
    assert (audit["actor"], audit["detail"]["pseudonym"]) == ("ana", receipt.pseudonym)
    assert "never sent: 1 message" in list(receipt_lines(receipt))
    assert (await read_person(connection, SPELLINGS)).campaigns == ()


async def test_a_forgotten_person_is_one_pseudonym_and_a_late_status_still_counts(
    pool: Pool, connection: Connection, in_two_campaigns: None
) -> None:
    receipt = await forget_person(connection, SPELLINGS[::-1], actor="ana")
    for campaign_id, variables in ((1, 2), (2, 2)):
        rows = [row async for page in export_rows(pool, campaign_id) for row in page]
        assert rows[0][COLUMNS.index("phone")] == receipt.pseudonym
        assert len(rows[0]) == len(COLUMNS) + variables
    assert re.fullmatch(r"forgotten-[0-9]+", receipt.pseudonym)

    range_id = await connection.fetchval("SELECT range_id FROM outcomes WHERE attempt_no = 2")
    tag = Tag(await installation(connection), range_id, 1, 2, 1)
    await put_in_inbox(connection, status_event(f"wamid.{PERSON}", 5, tag))
    await apply_statuses(connection)
    assert await connection.fetchval("SELECT sum(read)::int FROM range_counters") == 1
    assert "outcomes" not in await traces(connection), "the late status brings no id back"
    again = await forget_person(connection, SPELLINGS, actor="ana")
    assert (again.recipients, again.pseudonym) == (0, receipt.pseudonym)


async def test_nobody_is_forgotten_while_a_message_may_still_be_sent(
    connection: Connection, in_two_campaigns: None
) -> None:
    await start(connection, "summer")
    with pytest.raises(TryLater, match='"summer" may still send'):
        await forget_person(connection, SPELLINGS, actor="ana")
    await pause(connection, "summer")
    await connection.execute("UPDATE ranges SET claimed_through = 1 WHERE campaign_id = 2")
    with pytest.raises(TryLater, match='"summer" may still send'):
        await forget_person(connection, SPELLINGS, actor="ana")
    await connection.execute("UPDATE ranges SET claimed_through = 0 WHERE campaign_id = 2")
    assert (await forget_person(connection, SPELLINGS, actor="ana")).skipped == 1
    await assert_range_counters_hold(connection)


async def test_who_is_in_doubt_is_settled_first(connection: Connection, in_two_campaigns: None) -> None:
    await connection.execute("UPDATE ranges SET claimed_through = 1 WHERE campaign_id = 2")
    await connection.execute(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
        " SELECT range_id, 1, 1, 'unknown', 1, '1001', 'why' FROM ranges WHERE campaign_id = 2"
    )
    with pytest.raises(TryLater, match=r"in doubt.*campaign settle summer"):
        await forget_person(connection, SPELLINGS, actor="ana")


async def test_a_suppressed_phone_stays_suppressed(connection: Connection, in_two_campaigns: None) -> None:
    await suppress(connection, PERSON, reason="opted out")
    receipt: ForgetReceipt = await forget_person(connection, SPELLINGS, actor="ana")
    assert receipt.suppressed
    assert await connection.fetchval("SELECT count(*) FROM suppressions") == 1


@pytest.mark.parametrize(
    "phone",
    [5511987654321, 551187654321, 551133334444, 5511933334444, 5511877654321, 5215512345678, 525512345678,
     5491123456789, 541123456789, 4915112345678, 15551234567, 52551234567, 999, 5411234567890, 55119876543210,
     *(int(phone) for old, today, _ in RENUMBERED for phone in (old, today))],
)  # fmt: skip
async def test_the_database_knows_the_same_spellings(connection: Connection, phone: int) -> None:
    known: Any = await connection.fetchval("SELECT phone_spellings($1)", phone)
    assert tuple(map(int, known)) == phone_aliases(str(phone))


async def test_the_database_knows_them_of_every_head(connection: Connection) -> None:
    """Two of seven heads of six digits in the countries of a change, as numbers of 10 to 14 digits."""
    codes = {change.old_head[:2] for change in CHANGES}
    phones = [
        int(f"{head}{tail}"[:length].ljust(length, "0"))
        for head in range(220_000, 850_000)
        if str(head)[:2] in codes and head % 7 < 2
        for tail in ("00000000", "59146327")
        for length in range(10, 15)
    ]
    known = await connection.fetchval(
        "SELECT array_agg(other_spelling(phone) ORDER BY place) FROM unnest($1::bigint[]) WITH ORDINALITY"
        " AS asked (phone, place)",
        phones,
    )
    aliases = [phone_aliases(str(phone)) for phone in phones]
    expected = [str(found[1]) if len(found) > 1 else None for found in aliases]
    differing = [pair for pair in zip(phones, known, expected, strict=True) if pair[1] != pair[2]]
    assert differing[:5] == []
    assert sum(found is not None for found in expected) > 1_000


async def test_a_plan_knows_the_same_canonical_phones(connection: Connection) -> None:
    """Beside each form: the numbers before and after the span of its old forms."""
    phones = [
        int(phone) + delta for old, today, _ in RENUMBERED for phone in (old, today) for delta in (0, 10**7)
    ]
    await connection.execute(statements("plan")["create_staging"])
    known = await connection.fetch("SELECT pg_temp.canonical_phone(unnest($1::bigint[]))", phones)
    assert [row[0] for row in known] == canonical_phones(phones)
