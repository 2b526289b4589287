"""A month leaves only when all of it ended long ago; its campaigns keep their names and their counts."""

import asyncio
from datetime import UTC, date, datetime

import pytest

from drumbeat.campaigns.cli.status_text import status_lines
from drumbeat.campaigns.life.control import list_campaigns
from drumbeat.campaigns.life.prune import prune
from drumbeat.campaigns.life.run import shortfall
from drumbeat.campaigns.results.status import campaign_status
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.states import CampaignEvent, RecipientState
from drumbeat.engine.errors import TryLater
from drumbeat.engine.store.campaign_states import apply_event
from drumbeat.engine.store.database import Connection, Pool
from tests.cli.processes import ROOT, Drumbeat

WAITS_FOR = "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE $1 = ANY(pg_blocking_pids(pid)))"
PLANT = """
WITH campaign AS (
    INSERT INTO campaigns (name, content_hash, options, state, finished_at, template, phone_number_ids)
    VALUES ($1, '', '{}', $2, now() - make_interval(days => $3), '{}', '{}')
    RETURNING campaign_id),
planted AS (
    INSERT INTO ranges (range_id, campaign_id, ordinal, last_seq)
    SELECT first_range_id($4) + campaign_id, campaign_id, 0, 3 FROM campaign RETURNING range_id, campaign_id)
INSERT INTO range_counters (range_id, campaign_id, recipients, delivered, failed)
SELECT range_id, campaign_id, 3, 2, 1 FROM planted RETURNING campaign_id
"""


async def seed_campaign(pool: Pool, name: str, state: str, ended_days: int, month: str) -> int:
    day = date.fromisoformat(f"{month}-15")
    await pool.execute("SELECT create_partitions($1)", day)
    campaign_id: int = await pool.fetchval(PLANT, name, state, ended_days, day)
    return campaign_id


async def months(pool: Pool, *, dry_run: bool = False) -> dict[str, tuple[str, ...]]:
    found = await prune(pool, older_than_days=90, dry_run=dry_run)
    return {pruned.month: pruned.campaigns for pruned in found.pruned}


async def test_an_old_month_goes_and_its_counts_stay(pool: Pool) -> None:
    old = await seed_campaign(pool, "old", "finished", 400, "2024-03")
    assert await months(pool, dry_run=True) == {"2024-03": ("old",)}
    assert await pool.fetchval("SELECT count(*) FROM ranges") == 1
    before = await campaign_status(pool, old)
    assert await months(pool) == {"2024-03": ("old",)}
    assert await pool.fetchval("SELECT count(*) FROM ranges") == 0
    assert await pool.fetchval("SELECT to_regclass('outcomes_2024_03')") is None
    after = await campaign_status(pool, old)
    assert after.counts == before.counts
    assert after.counts[RecipientState.DELIVERED] == 2
    assert await months(pool) == {}


async def test_messages_of_people_go_by_their_own_age(pool: Pool) -> None:
    await pool.execute(
        "INSERT INTO incoming_messages (wamid, sender, type, sent_at, body, received_at)"
        " SELECT 'w' || days, '491701234567', 'text', now(), '{}', now() - make_interval(days => days)"
        " FROM unnest(ARRAY[89, 91]) AS days"
    )
    await pool.execute(
        "INSERT INTO unreadable_events (event_key, body, problem, received_at) VALUES ('k', '', 'x', now() - interval '91 days')"
    )
    for dry_run, left in ((True, 2), (False, 1)):
        assert (await prune(pool, older_than_days=90, dry_run=dry_run)).messages == 2
        assert await pool.fetchval("SELECT count(*) FROM incoming_messages") == left
    assert (await prune(pool, older_than_days=90, dry_run=True)).messages == 0


async def test_what_was_in_doubt_when_it_was_pruned_cannot_be_settled(pool: Pool) -> None:
    old = await seed_campaign(pool, "old", "finished", 400, "2024-03")
    await pool.execute("UPDATE campaigns SET reason = '1 in doubt', reason_code = 'in_doubt'")
    await pool.execute("UPDATE range_counters SET delivered = 1, unknown = 1")
    before = await campaign_status(pool, old)
    assert (before.reason, before.in_doubt) == ("1 in doubt: see `campaign settle`", 1)
    await months(pool)
    after = await campaign_status(pool, old)
    assert (after.reason, after.in_doubt) == ("1 in doubt when they were pruned", 0)
    assert (after.pruned_recipients, after.pruned_unknown) == (3, 1)
    text = "\n".join(status_lines(after))
    assert "settle" not in text and "pruned: only the counts are left of 3 recipients" in text
    assert shortfall(after, None) == "1 in doubt when they were pruned"
    async with pool.acquire() as connection:
        [listed] = await list_campaigns(connection)
    assert listed.reason == after.reason


async def test_a_month_goes_out_of_every_large_table_and_no_other_month(pool: Pool) -> None:
    planted = [
        await seed_campaign(pool, month, "finished" if month == "2024-03" else "paused", 400, month)
        for month in ("2024-02", "2024-03", "2024-04")
    ]
    before = [(await campaign_status(pool, campaign)).counts for campaign in planted]
    await months(pool)
    assert [(await campaign_status(pool, campaign)).counts for campaign in planted] == before
    found = await pool.fetch(
        "SELECT inhparent::regclass::text, array_agg(right(relname, 8) ORDER BY relname)"
        " FROM pg_inherits JOIN pg_class ON oid = inhrelid"
        " WHERE relkind = 'r' AND relname ~ '_2024_' GROUP BY 1 ORDER BY 1"
    )
    assert [tuple(row) for row in found] == [
        (table, ["_2024_02", "_2024_04"])
        for table in ("claims", "outcomes", "pending_attempts", "range_counters", "ranges", "recipients")
    ]


@pytest.mark.parametrize(("state", "ended_days"), [("paused", 400), ("running", 400), ("finished", 10)])
async def test_one_unfinished_campaign_keeps_its_month(pool: Pool, state: str, ended_days: int) -> None:
    await seed_campaign(pool, "old", "finished", 400, "2024-03")
    await seed_campaign(pool, "other", state, ended_days, "2024-03")
    assert await months(pool) == {}
    assert await pool.fetchval("SELECT count(*) FROM ranges") == 2


@pytest.mark.parametrize("state", ["cancelled", "expired"])
async def test_every_end_is_an_end(pool: Pool, state: str) -> None:
    await seed_campaign(pool, "old", state, 400, "2024-03")
    assert await months(pool) == {"2024-03": ("old",)}


async def test_a_month_with_a_running_campaign_stays(pool: Pool) -> None:
    """A create may just be writing to it."""
    await seed_campaign(pool, "old", "finished", 400, f"{datetime.now(UTC):%Y-%m}")
    assert (await prune(pool, older_than_days=0, dry_run=False)).pruned == ()


async def test_a_month_ends_at_one_moment_whatever_the_servers_time_zone(connection: Connection) -> None:
    """The days of range ids are those of UTC. Of these two zones one differs at any hour of the day."""
    await connection.execute("SELECT create_partitions((now() - interval '40 days')::date)")
    ended = []
    for zone in ("UTC", "Pacific/Kiritimati", "Etc/GMT+12"):
        await connection.execute(f"SET TIME ZONE '{zone}'")
        ended.append(
            [bool(await connection.fetch(statements("prune")["months"], days)) for days in range(45)]
        )
    assert ended[0][0] and not ended[0][-1]
    assert ended[1] == ended[2] == ended[0]


async def test_a_campaign_that_is_opened_again_in_this_moment_keeps_its_month(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumbeat.campaigns.life.prune.LOCK_WAITS_MAX", 2)
    old = await seed_campaign(pool, "old", "finished", 400, "2024-03")
    async with pool.acquire() as sender:
        async with sender.transaction():
            await sender.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
            await apply_event(sender, old, CampaignEvent.REOPEN, "doubts are sent again")
            with pytest.raises(TryLater):
                await months(pool)
        assert await months(pool) == {}
        assert await sender.fetchval("SELECT count(*) FROM ranges") == 1


async def test_every_count_stays_and_each_campaigns_own(pool: Pool) -> None:
    campaigns = [await seed_campaign(pool, name, "finished", 400, "2024-03") for name in ("one", "two")]
    states = [state.value for state in RecipientState if state is not RecipientState.PENDING]
    counts = ", ".join(f"{state} = campaign_id * 100 + {scratch}" for scratch, state in enumerate(states))
    await pool.execute(f"UPDATE range_counters SET recipients = 100000, {counts}")
    before = [(await campaign_status(pool, campaign)).counts for campaign in campaigns]
    assert await months(pool) == {"2024-03": ("one", "two")}
    assert [(await campaign_status(pool, campaign)).counts for campaign in campaigns] == before


async def test_sinks_of_old_are_forgotten(pool: Pool) -> None:
    """One whose batches still come would count a replayed one twice."""
    await pool.execute(
        "INSERT INTO counted_batches SELECT results_writer, 1, now() - make_interval(days => days)"
        " FROM unnest(ARRAY['old', 'young'], ARRAY[91, 89]) AS known (results_writer, days)"
    )
    await months(pool, dry_run=True)
    assert await pool.fetchval("SELECT count(*) FROM counted_batches") == 2
    await months(pool)
    assert [
        row["results_writer"] for row in await pool.fetch("SELECT results_writer FROM counted_batches")
    ] == ["young"]


async def test_the_campaign_that_keeps_a_month_is_named_with_the_remedy(
    pool: Pool, drumbeat: Drumbeat
) -> None:
    await seed_campaign(pool, "old", "finished", 400, "2024-03")
    for name, state in (("a draft", "draft"), ("paused", "paused"), ("killed", "draft")):
        await seed_campaign(pool, name, state, 400, "2024-03")
    await pool.execute("UPDATE campaigns SET finished_at = NULL WHERE state IN ('draft', 'paused')")
    await pool.execute("UPDATE campaigns SET planned_at = now() WHERE name <> 'killed'")
    await seed_campaign(pool, "young", "finished", 10, "2024-03")
    told = drumbeat.ok("db", "prune", "--older-than", "90", "--yes").stdout.splitlines()
    young = await pool.fetchval(
        "SELECT (finished_at AT TIME ZONE 'UTC')::date FROM campaigns WHERE name = 'young'"
    )
    assert told == [
        "nothing to prune",
        "kept 2024-03, because not all of its campaigns ended long enough ago:",
        "  a draft: draft; `drumbeat campaign run 'a draft'` continues it,"
        " `drumbeat campaign cancel 'a draft'` ends it",
        "  paused: paused; `drumbeat campaign resume paused` continues it,"
        " `drumbeat campaign cancel paused` ends it",
        "  killed: its `campaign create` did not finish; repeat it, and what is left of it is removed",
        f"  young: finished on {young}, too recently",
    ]
    kept = drumbeat.ok("db", "prune", "--older-than", "90", "--dry-run", "--json").json["kept"]
    assert [month["month"] for month in kept] == ["2024-03"]
    assert [(one["name"], one["state"], one["planned_at"] is None) for one in kept[0]["campaigns"]] == [
        ("a draft", "draft", False),
        ("paused", "paused", False),
        ("killed", "draft", True),
        ("young", "finished", True),  # planted
    ]


async def test_a_month_in_use_is_left_for_later(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drumbeat.campaigns.life.prune.LOCK_WAITS_MAX", 2)
    old = await seed_campaign(pool, "old", "finished", 400, "2024-03")
    before = (await campaign_status(pool, old)).counts
    async with pool.acquire() as reader, reader.transaction():
        await reader.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        await reader.execute("LOCK TABLE outcomes IN ACCESS SHARE MODE")
        with pytest.raises(TryLater, match="2024-03"):
            await months(pool)
    assert await months(pool) == {"2024-03": ("old",)}
    assert (await campaign_status(pool, old)).counts == before, "kept once, whatever was tried before"


async def test_pruning_gives_way_to_a_sender(pool: Pool) -> None:
    """A sender locks range counters before outcomes, a drop in the other order. The drop gives way, not the sender."""
    await seed_campaign(pool, "old", "finished", 400, "2024-03")
    async with pool.acquire() as sender, pool.acquire() as observer:
        async with sender.transaction():
            # Sooner than the other session's, so that of two that wait for each other this one would end.
            await sender.execute("SET LOCAL deadlock_timeout = '500ms'")
            await sender.execute("SELECT FROM range_counters FOR UPDATE")
            pruning = asyncio.create_task(prune(pool, older_than_days=90, dry_run=False))
            async with asyncio.timeout(30):
                while not await observer.fetchval(WAITS_FOR, sender.get_server_pid()):
                    await asyncio.sleep(0.005)
            await sender.execute("DELETE FROM outcomes")  # waits for the drop, which waits for it
        assert [pruned.month for pruned in (await pruning).pruned] == ["2024-03"]


def documented_timer() -> list[str]:
    """The command that the page gives to a timer."""
    text = (ROOT / "docs/operate/database.md").read_text("utf-8")
    section = text.partition("Run it once a day by a timer:")[2].partition("\n## ")[0]
    (line,) = [line.strip() for line in section.splitlines() if line.startswith("    ")]
    assert line.startswith("drumbeat ")
    return line.split()[1:]


async def test_a_timer_prunes_day_by_day(pool: Pool, drumbeat: Drumbeat) -> None:
    """Without a terminal, and also on days with nothing to prune."""
    await seed_campaign(pool, "old", "finished", 400, "2024-03")
    await seed_campaign(pool, "young", "finished", 80, "2024-05")
    first, second = (drumbeat.ok(*documented_timer()).stdout.splitlines()[0] for _ in range(2))
    assert first == "dropped 2024-03 with 1 campaign and 3 recipients: old"
    assert second == "nothing to prune"
    left = await pool.fetch(
        "SELECT DISTINCT to_char(date '2020-01-01' + (range_id >> 47)::integer, 'YYYY-MM') FROM ranges"
    )
    assert [row[0] for row in left] == ["2024-05"]
