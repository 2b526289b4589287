"""A retry holds those whom nothing reached, each once, and leaves out whoever turns out to be reached."""

import asyncio
from dataclasses import replace

import asyncpg
import pytest

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.changing.delete import delete_campaign
from drumbeat.campaigns.changing.retry import RetryOptions, plan_retry, retry_name, retry_spec
from drumbeat.campaigns.life.control import cancel, start
from drumbeat.campaigns.options.sources import CampaignResult
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.results.export import COLUMNS, export_rows
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.limits.guard import PairGuard
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.errors import ConfigurationError, NotReady, TryLater
from drumbeat.engine.sending.campaign_reader import CampaignReader
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.sending.first_attempts import FirstAttempts
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.sending.number_quota import NumberQuota
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import take_lease
from tests.campaigns.conftest import PHONE
from tests.campaigns.creating import recount
from tests.sending.planted import another_process, assert_range_counters_hold, context_of

EVERYBODY_FAILED = RetryOptions(all_codes=True)


async def failed_campaign(url: str, pool: Pool, spec: CampaignSpec) -> CreatedCampaign:
    """Of ten recipients 1 to 4 failed, 4 with 131049; 5 is delivered, 6 in doubt, 7 skipped, 8 waits."""
    created = await create_campaign(url, spec)
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, code, reason, attempted_at)"
        " SELECT range_id, seq, 1, 1, kind, status, '1001', code, 'why', now() - interval '1 hour' FROM recipients JOIN (VALUES"
        " (1, 2, NULL, 131026), (2, 1, 3, 131026), (3, 2, NULL, 131000), (4, 1, 3, 131049), (5, 1, 4, NULL), (7, 3, NULL, NULL)"
        ") AS planted (n, kind, status, code) ON line = n + 1"
    )
    await pool.execute(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
        " SELECT range_id, seq, 1, state, 1, '1001', 'why' FROM recipients JOIN (VALUES (6, 'unknown'), (8, 'deferred'))"
        " AS planted (n, state) ON line = n + 1"
    )
    await pool.execute("UPDATE ranges SET claimed_through = last_seq")
    await recount(pool)
    return created


async def phones(pool: Pool, created: CreatedCampaign) -> list[int]:
    pages = export_rows(pool, created.campaign_id)
    return [int(row[COLUMNS.index("phone")]) - PHONE + 1 async for page in pages for row in page]


async def states(pool: Pool, created: CreatedCampaign) -> list[str]:
    pages = export_rows(pool, created.campaign_id)
    return [row[COLUMNS.index("state")] async for page in pages for row in page]


@pytest.mark.parametrize(
    ("name", "following"),
    [("spring", "spring/retry-1"), ("spring/retry-1", "spring/retry-2"), ("a/retry-9", "a/retry-10")],
)
def test_each_retry_has_the_next_name(name: str, following: str) -> None:
    assert retry_name(name) == following


async def test_only_the_failed_are_in_it_each_once(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    await failed_campaign(ready, pool, spec)
    first = await plan_retry(ready, "spring", RetryOptions(codes=(131026,)))
    assert (first.name, await phones(pool, first)) == ("spring/retry-1", [1, 2])
    assert await pool.fetchval("SELECT count(*) FROM retried_recipients") == 2
    assert (await plan_retry(ready, "spring", RetryOptions(codes=(131026,)))).unchanged
    with pytest.raises(ConfigurationError, match="spring/retry-1"):
        await plan_retry(ready, "spring", EVERYBODY_FAILED)
    rest = await plan_retry(ready, "spring", RetryOptions(all_codes=True, name="rest"))
    assert await phones(pool, rest) == [3, 4], "nobody is in two retries"
    async with pool.acquire() as connection:
        await assert_range_counters_hold(connection)


async def test_whom_a_retry_does_not_help_is_left_out(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    """131026 fails again and again. A code that is named is taken, and so is every code if all are."""
    await failed_campaign(ready, pool, spec)
    shown = await plan_retry(ready, "spring", RetryOptions(), dry_run=True)
    assert (shown.counts.recipients, shown.audience.left_out_codes) == (2, {"131026": 2})
    retry = await plan_retry(ready, "spring", RetryOptions())
    assert await phones(pool, retry) == [3, 4]
    assert (await plan_retry(ready, "spring", RetryOptions())).unchanged
    with pytest.raises(ConfigurationError, match="all_codes was not given and is True"):
        await plan_retry(ready, "spring", EVERYBODY_FAILED)
    with pytest.raises(NotReady, match="a retry does not help those left out, 131026 2"):
        await plan_retry(ready, "spring", RetryOptions(name="again"))
    rest = await plan_retry(ready, "spring", RetryOptions(codes=(131026,), name="rest"))
    assert await phones(pool, rest) == [1, 2]


async def test_a_retry_keeps_guards_and_order_but_no_canary(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    guarded = replace(
        spec, days="mon-fri", cap="2/7d", max_recipients=10, priority="high", share=30, canary=2
    )
    await failed_campaign(ready, pool, guarded)
    retry = await plan_retry(ready, "spring", EVERYBODY_FAILED)
    row = await pool.fetchrow(
        "SELECT days, cap_messages, priority, share_percent,"
        " (SELECT count(*) FROM canaries WHERE canaries.campaign_id = campaigns.campaign_id) AS canaries"
        " FROM campaigns WHERE campaign_id = $1",
        retry.campaign_id,
    )
    assert tuple(row or ()) == ([0, 1, 2, 3, 4], 2, "high", 30, 0)


async def test_who_was_reached_meanwhile_is_skipped_and_131049_waits(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    """After the plan: 1 is reported delivered, through the first campaign."""
    await failed_campaign(ready, pool, spec)
    retry = await plan_retry(ready, "spring", EVERYBODY_FAILED)
    await pool.execute(
        "UPDATE outcomes SET kind = 1, status = 4 FROM recipients WHERE line = 2 AND outcomes.seq = recipients.seq"
        " AND outcomes.range_id = recipients.range_id AND recipients.range_id = (SELECT range_id FROM ranges ORDER BY campaign_id, ordinal LIMIT 1)"
    )
    async with pool.acquire() as connection:
        await start(connection, retry.name)
        claimed = await claim_all(context_of(pool), connection)
    assert claimed == [PHONE + 1, PHONE + 2]
    assert await states(pool, retry) == ["skipped", "pending", "pending", "deferred"]
    row = await pool.fetchrow(
        "SELECT reason, due_at > now() + interval '22 hours' AS later, due_at < now() + interval '24 hours' AS soon"
        " FROM recipient_states WHERE campaign_id = $1 AND state = 'deferred'",
        retry.campaign_id,
    )
    assert tuple(row or ()) == ("131049: a retry waits for 24 h", True, True)


async def test_the_whole_chain_of_earlier_campaigns_counts(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    """The retry failed again; then the first message is reported read after all."""
    await failed_campaign(ready, pool, spec)
    first = await plan_retry(ready, "spring", RetryOptions(codes=(131026,)))
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, phone_number_id, code, reason)"
        " SELECT range_id, seq, 1, 1, 2, '1002', 131026, 'again' FROM retried_recipients"
    )
    await recount(pool)
    second = await plan_retry(ready, first.name, EVERYBODY_FAILED)
    assert (second.name, await phones(pool, second)) == ("spring/retry-2", [1, 2])
    await pool.execute(
        "UPDATE outcomes SET status = 5 WHERE seq = 2 AND phone_number_id = '1001'"
        " AND range_id = (SELECT range_id FROM ranges ORDER BY campaign_id, ordinal LIMIT 1)"
    )
    async with pool.acquire() as connection:
        await start(connection, second.name)
        assert await claim_all(context_of(pool), connection) == [PHONE]
    assert await states(pool, second) == ["pending", "skipped"]


async def claim_all(context: FlowContext, connection: Connection) -> list[int]:
    """The number 1001 claims every first attempt of the running campaign; returns the phones."""
    await CampaignReader(context.campaign_cache, "product", None).refresh(connection)
    lease = await take_lease(connection, "1001", another_process())
    feeder = Feeder(context.pool, lease, context.campaign_cache)
    feed = await feeder.feed()
    assert feed is not None
    first = FirstAttempts(context, lease, feeder, PairGuard(), NumberQuota(context, "1001"))
    granted = await first.claim(feed, 1_000)
    return [candidate.phone for candidate in granted.candidates]


async def test_a_result_without_retries_is_still_an_audience(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    """Only `campaign retry` leaves out whom another retry has."""
    await failed_campaign(ready, pool, spec)
    await plan_retry(ready, "spring", EVERYBODY_FAILED)
    again = replace(spec, name="again", audience=None, audience_campaign="spring", code=131026)
    assert await phones(pool, await create_campaign(ready, again)) == [1, 2]


async def test_the_external_id_names_the_same_retry(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    """Each of the three words for a campaign is the campaign: the retry has its name, and is planned once."""
    await failed_campaign(ready, pool, replace(spec, external_id="K-7"))
    first = await plan_retry(ready, "K-7", EVERYBODY_FAILED)
    assert (first.name, first.unchanged) == ("spring/retry-1", False)
    for word in ("K-7", "spring", "external:K-7"):
        again = await plan_retry(ready, word, EVERYBODY_FAILED)
        assert (again.campaign_id, again.name, again.unchanged) == (first.campaign_id, first.name, True)


async def test_a_name_still_goes_before_the_external_id_of_another(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    await failed_campaign(ready, pool, spec)
    await create_campaign(ready, replace(spec, name="summer", external_id="spring"))
    assert (await plan_retry(ready, "spring", EVERYBODY_FAILED)).name == "spring/retry-1"
    with pytest.raises(NotReady, match="nobody"):
        await plan_retry(ready, "external:spring", EVERYBODY_FAILED)


@pytest.mark.parametrize("names", [(None, None), ("one", "two")], ids=["default names", "names of their own"])
async def test_two_retries_at_once_hold_nobody_twice(
    ready: str, pool: Pool, spec: CampaignSpec, names: tuple[str | None, str | None]
) -> None:
    await failed_campaign(ready, pool, replace(spec, external_id="K-7"))
    plans = [
        plan_retry(ready, word, RetryOptions(all_codes=True, name=name))
        for word, name in zip(("spring", "K-7"), names, strict=True)
    ]
    done = await asyncio.gather(*plans, return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["CreatedCampaign", "TryLater"]
    assert await pool.fetchval("SELECT count(*) FROM retried_recipients") == 4


async def test_a_retry_that_was_pruned_still_counts(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    """Its month is dropped before that of the campaign, if that one has an unfinished neighbour."""
    await failed_campaign(ready, pool, spec)
    first = await plan_retry(ready, "spring", RetryOptions(codes=(131026,)))
    assert await phones(pool, first) == [1, 2]
    [ids] = await pool.fetch(
        "SELECT min(range_id), max(range_id) + 1 FROM ranges WHERE campaign_id = $1", first.campaign_id
    )
    await pool.execute(statements("prune")["delete_retried"], *ids)
    for table in ("claims", "outcomes", "pending_attempts", "recipients", "range_counters", "ranges"):
        await pool.execute(f"DELETE FROM {table} WHERE range_id >= $1 AND range_id < $2", *ids)
    assert await phones(
        pool, await plan_retry(ready, "spring", RetryOptions(all_codes=True, name="rest"))
    ) == [3, 4]
    with pytest.raises(TryLater):
        await create_campaign(
            ready,
            replace(
                await retry_of_spring(pool, "forced"),
                read_from=CampaignResult("spring", RecipientState.FAILED, frozenset({131026})),
            ),
        )


async def test_the_database_refuses_a_second_retry_of_somebody(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    """Without the lock of a retry, both read the same people. One is planned, and nothing is left of the other."""
    await failed_campaign(ready, pool, spec)
    plans = [create_campaign(ready, await retry_of_spring(pool, name)) for name in ("one", "two")]
    done = await asyncio.gather(*plans, return_exceptions=True)
    assert sorted(type(each).__name__ for each in done) == ["CreatedCampaign", "TryLater"]
    assert await pool.fetchval("SELECT count(*) FROM retried_recipients") == 4
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 2, "spring, and one retry"
    assert await pool.fetchval("SELECT count(*) FROM recipients") == 10 + 4


async def retry_of_spring(pool: Pool, name: str) -> CampaignSpec:
    campaign = await find_campaign(pool, "spring")
    row = await pool.fetchrow("SELECT options, template FROM campaigns WHERE name = 'spring'")
    assert row is not None
    return retry_spec(campaign, row["options"], row["template"], name, EVERYBODY_FAILED)


async def test_a_retry_that_ended_early_frees_those_whom_it_skipped(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    """1 failed again in the first retry; then it was cancelled. 2 to 4 may be retried, once more at a time."""
    await failed_campaign(ready, pool, spec)
    first = await plan_retry(ready, "spring", EVERYBODY_FAILED)
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, phone_number_id, code, reason)"
        " SELECT range_id, seq, 1, 1, 2, '1002', 131026, 'again' FROM retried_recipients WHERE seq = 1"
    )
    await pool.execute("UPDATE ranges SET claimed_through = 1 WHERE campaign_id = $1", first.campaign_id)
    await recount(pool)
    async with pool.acquire() as connection:
        await cancel(connection, first.name)
    second = await plan_retry(ready, "spring", RetryOptions(all_codes=True, name="second"))
    assert await phones(pool, second) == [2, 3, 4]
    with pytest.raises(NotReady, match="nobody"):
        await plan_retry(ready, "spring", RetryOptions(all_codes=True, name="third"))
    async with pool.acquire() as connection:
        await cancel(connection, second.name)
    await delete_campaign(ready, second.name, actor="")
    again = await plan_retry(ready, "spring", RetryOptions(all_codes=True, name="again"))
    assert await phones(pool, again) == [2, 3, 4]
    with pytest.raises(TryLater):
        await create_campaign(
            ready, replace(await retry_of_spring(pool, "forced"), read_from=CampaignResult("again"))
        )


async def test_a_killed_plan_leaves_nobody_retried(ready: str, pool: Pool, spec: CampaignSpec) -> None:
    """A retry has its links only once it is planned: otherwise nobody would be left to plan it again."""
    await failed_campaign(ready, pool, spec)
    await pool.execute(
        "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'killed'; END $$"
    )
    await pool.execute(
        "CREATE TRIGGER killed BEFORE UPDATE OF planned_at ON campaigns FOR EACH ROW EXECUTE FUNCTION fail()"
    )
    with pytest.raises(asyncpg.RaiseError):
        await plan_retry(ready, "spring", EVERYBODY_FAILED)
    await pool.execute("DROP TRIGGER killed ON campaigns")
    assert await phones(pool, await plan_retry(ready, "spring", EVERYBODY_FAILED)) == [1, 2, 3, 4]
