"""Plans that Postgres keeps for a connection: made while a table was empty, they must still serve when it is large."""

import re
from collections.abc import AsyncIterator

import pytest

from drumbeat.engine.core.tag import Tag
from drumbeat.engine.store.database import Connection, Pool, open_pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.recording import record
from drumbeat.engine.store.status_applier import apply_statuses
from tests.kit.planted import FIRST_RANGE, NUMBER, installation, put_in_inbox, status_event
from tests.kit.planted import plant_campaign as plant_claimed
from tests.sending.planted import SLOW, plant_campaign, plant_numbers

BY_KEY = [
    ("claims", "page"),
    ("claims", "advance_watermarks"),
    ("claims", "recorded_above"),
    ("retry_claims", "due_retries"),
    ("ranges", "perhaps_idle"),
    ("ranges", "finish_ranges"),
    ("ranges", "release_until_due"),
    ("retry_claims", "claim_retries"),
    ("retry_claims", "postpone_retries"),
    ("facts", "recorded"),
    ("facts", "states"),
    ("facts", "complete_outcomes"),
    ("facts", "settle_pending_attempts"),
    ("facts", "write_pending_attempts"),
    ("facts", "remove_retries_of_reached"),
]


async def plan(connection: Connection, statement: str) -> str:
    """The plan that a connection keeps for any arguments."""
    parameters = max(int(parameter) for parameter in re.findall(r"\$(\d+)", statement))
    await connection.execute("SET plan_cache_mode = force_generic_plan")
    await connection.execute(f"PREPARE kept AS {statement.rstrip().rstrip(';')}")
    rows = await connection.fetch(f"EXPLAIN EXECUTE kept ({', '.join(['NULL'] * parameters)})")
    await connection.execute("DEALLOCATE kept")
    return "\n".join(row[0] for row in rows)


def table_reads(kept: str) -> list[str]:
    """The parts of a plan that read a table, each with its conditions."""
    nodes = re.split(r"\n(?= *->)|\n(?= *(?:Init|Sub)Plan)", kept)
    return [node for node in nodes if re.search(r"(Index|Seq|Index Only) Scan .*on (?!fact|wanted)", node)]


@pytest.fixture(params=["never analysed", "analysed while empty"])
async def empty(pool: Pool, request: pytest.FixtureRequest) -> None:
    """Tables of this month, with nothing in them."""
    async with pool.acquire() as connection:
        await connection.execute("SELECT create_partitions(current_date)")
        if request.param == "analysed while empty":
            await connection.execute("VACUUM ANALYZE")


@pytest.fixture
async def sender(empty: None, database_url: str) -> AsyncIterator[Connection]:
    async with open_pool(database_url, size=1, by_key=True) as pool, pool.acquire() as connection:
        yield connection


@pytest.mark.parametrize(("file", "name"), BY_KEY)
async def test_statements_of_senders_look_rows_up_by_key(sender: Connection, file: str, name: str) -> None:
    kept = await plan(sender, queries(file)[name])
    assert table_reads(kept)
    assert [table_read for table_read in table_reads(kept) if "Index Cond:" not in table_read] == []


@pytest.mark.parametrize("name", ["due", "take_others", "apply_plain"])
async def test_the_status_applier_finds_its_events_by_key(sender: Connection, name: str) -> None:
    """Only its temporary table and the row of the installation are read whole."""
    await sender.execute(queries("apply_statuses")["create_workspace"])
    kept = await plan(sender, queries("apply_statuses")[name])
    large = [
        node
        for node in kept.split("->")
        if re.search(r" on (inbox|outcomes|pending_attempts|range_counters)", node)
    ]
    assert large
    assert [node for node in large if "Seq Scan" in node] == []
    assert [node for node in large if "Index" in node and "Index Cond:" not in node] == []


@pytest.mark.parametrize("known", [True, False], ids=["plain", "before their outcomes"])
@pytest.mark.parametrize("analysed", [True, False], ids=["analysed while small", "as it was"])
@pytest.mark.parametrize("plans", ["force_generic_plan", "force_custom_plan"])
async def test_applying_few_events_reads_few_rows(
    sender: Connection, known: bool, analysed: bool, plans: str
) -> None:
    """Even if the connection keeps plans from when the tables were small, or the tables were never analysed, and the
    events lie far apart.
    """
    await sender.execute(f"SET plan_cache_mode = {plans}")
    await plant_claimed(sender, ranges=40, recipients=500)
    await sender.execute(
        "UPDATE range_counters SET accepted = recipients - CASE WHEN $1 THEN 0 ELSE 3 END", known
    )
    await accept(sender, FIRST_RANGE, FIRST_RANGE, above_seq=490)
    await apply_one_each(sender, [FIRST_RANGE], 500)
    await accept(sender, FIRST_RANGE + 1, FIRST_RANGE + 9, above_seq=3)
    if analysed:
        await sender.execute("ANALYZE outcomes, range_counters")
    await accept(sender, FIRST_RANGE + 10, FIRST_RANGE + 39, above_seq=0 if known else 3)
    for seq in range(1, 4):
        before = await rows_read(sender)
        await apply_one_each(sender, [FIRST_RANGE + 10, FIRST_RANGE + 20, FIRST_RANGE + 39], seq)
        read = await rows_read(sender) - before
        assert read < 200, "of 20,000 outcomes and 40 rows of range counters"


async def accept(connection: Connection, first: int, last: int, *, above_seq: int) -> None:
    await connection.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid)"
        " SELECT range_id, seq, 1, 1, 1, 1, $1, 'w' || range_id || '.' || seq FROM recipients"
        " WHERE range_id BETWEEN $2 AND $3 AND seq > $4",
        NUMBER,
        first,
        last,
        above_seq,
    )


async def apply_one_each(connection: Connection, range_ids: list[int], seq: int) -> None:
    own = await installation(connection)
    tags = [Tag(own, range_id, seq, 1, 1) for range_id in range_ids]
    await put_in_inbox(connection, *(status_event(f"w{tag.range_id}.{seq}", 4, tag) for tag in tags))
    assert (await apply_statuses(connection)).matched == len(tags)


async def rows_read(connection: Connection) -> int:
    await connection.execute("SELECT pg_stat_force_next_flush()")
    read: int = await connection.fetchval(
        "SELECT sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::bigint FROM pg_stat_user_tables"
        " WHERE relname LIKE 'outcomes_%' OR relname LIKE 'range_counters_%'"
    )
    return read


async def test_a_free_range_is_looked_for_among_the_free_ones(sender: Connection) -> None:
    kept = await plan(sender, queries("ranges")["take_range"])
    assert kept.count("_campaign_id_due_at_ordinal_idx on ranges") == 2


async def test_an_empty_table_would_be_read_whole_without_the_setting(database_url: str) -> None:
    async with open_pool(database_url, size=1) as pool, pool.acquire() as connection:
        await connection.execute("SELECT create_partitions(current_date)")
        await connection.execute("VACUUM ANALYZE outcomes")
        assert "Seq Scan on outcomes" in await plan(connection, queries("claims")["recorded_above"])


async def test_a_wamid_is_found_by_its_hash(sender: Connection) -> None:
    await sender.execute(queries("apply_statuses")["create_workspace"])
    rows = await sender.fetch("EXPLAIN " + queries("apply_statuses")["match_wamids"])
    assert any("Index Cond: (hashtextextended(wamid" in row[0] for row in rows)


async def test_a_batch_of_outcomes_is_looked_up_by_key_by_a_plan_of_the_empty_table(
    sender: Connection,
) -> None:
    """Rows that cannot match are not read, however many there are."""
    await plant_numbers(sender, **{SLOW: 80})
    campaign = await plant_campaign(sender, recipients=600, range_size=300)
    await sender.execute("ANALYZE")
    await sender.execute("SET plan_cache_mode = force_generic_plan")
    for first in range(1, 301, 20):
        facts = [
            Fact(
                campaign.campaign_id, range_id, seq, 1, 1, SLOW, FactKind.ACCEPTED, f"wamid.{range_id}.{seq}"
            )
            for range_id in campaign.range_ids
            for seq in range(first, first + 20)
        ]
        await record(sender, facts)
    await sender.execute("SELECT pg_stat_force_next_flush()")
    read = await sender.fetchval(
        "SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE relname LIKE 'outcomes_%'"
    )
    assert await sender.fetchval("SELECT count(*) FROM outcomes") == 600
    assert read < 600, "a plan that reads all of them reads thousands"
