"""What the service tells about templates and numbers is acted on once; the loops outlive a lost database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import permutations
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from structlog.testing import capture_logs

from engine.core.tag import Tag
from engine.store.database import LOST_CONNECTION, Connection, Pool, open_pool
from engine.store.queries import queries
from engine.webhooks import account, reconciler
from engine.webhooks.account import act
from engine.webhooks.folder import Folded
from engine.webhooks.inbox import Group, write
from engine.webhooks.metrics import Metrics
from engine.webhooks.reconciler import Intervals, Reconciler
from tests.chaos.proxy import proxied
from tests.webhooks.conversation import PRODUCT, change_body
from tests.webhooks.planted import (
    FIRST_RANGE,
    NUMBER,
    doubt,
    installation,
    plant_campaign,
    put_in_inbox,
    state_of,
    status_event,
)


@pytest.fixture
async def connection(pool: Pool):
    async with pool.acquire() as connection:
        yield connection


async def tell(connection: Connection, field: str, value: dict[str, Any], **entry: Any) -> None:
    body = change_body(field, value, **entry)
    group = Group(PRODUCT)
    group.add(body)
    await write(connection, group)


async def tell_template(
    connection: Connection, event: str, language: str = "pt_BR", reason: str | None = None, **entry: Any
) -> None:
    value = {"event": event, "message_template_name": "offer", "message_template_language": language}
    await tell(connection, "message_template_status_update", value | {"reason": reason}, **entry)


async def plant_template(connection: Connection, language: str = "pt_BR") -> None:
    await connection.execute(
        "INSERT INTO templates (name, language, status, definition) VALUES ('offer', $1, 'APPROVED', '{}')",
        language,
    )


async def campaign_row(connection: Connection, campaign: int) -> tuple[str, str]:
    row = await connection.fetchrow("SELECT state, reason FROM campaigns WHERE campaign_id = $1", campaign)
    return row["state"], row["reason"]


@pytest.mark.parametrize("event", ["PAUSED", "DISABLED", "REJECTED"])
async def test_a_stopped_template_pauses_its_campaigns_in_words(connection: Connection, event: str) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection)
    await tell_template(connection, event, reason="NONE")
    assert await act(connection) == 1
    assert await act(connection) == 0
    state, reason = await campaign_row(connection, campaign)
    assert (state, reason) == ("paused", f"template offer (pt_BR) was {event.lower()} by the service")
    assert await connection.fetchval("SELECT status FROM templates") == event


async def test_one_acts_at_a_time(connection: Connection, other: Connection) -> None:
    """Two would act on the events about one template in any order."""
    await tell_template(connection, "PAUSED")
    async with other.transaction():
        assert await other.fetchval(queries("inbox")["act_lock"])
        assert await act(connection) == 0
    assert await act(connection) == 1


async def test_who_is_killed_while_acting_acts_on_it_again(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection)
    await tell_template(connection, "PAUSED")

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
    await tell_template(connection, "PAUSED", "pt")
    assert await act(connection) == 1
    assert (await campaign_row(connection, campaign))[0] == "running"
    rows = await connection.fetch("SELECT language, status FROM templates")
    assert {tuple(row) for row in rows} == {("pt_BR", "APPROVED"), ("pt", "PAUSED")}


async def test_a_stopped_template_keeps_a_scheduled_campaign_from_starting(connection: Connection) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection, state="scheduled")
    await tell_template(connection, "REJECTED", reason="ABUSIVE_CONTENT")
    await act(connection)
    state, reason = await campaign_row(connection, campaign)
    assert (state, reason.rpartition("by the service")[2]) == ("paused", ": ABUSIVE_CONTENT")


async def test_approval_changes_only_the_template(connection: Connection) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection, state="paused")
    await tell_template(connection, "APPROVED")
    assert await act(connection) == 1
    assert (await campaign_row(connection, campaign))[0] == "paused"


async def test_a_repetition_is_not_acted_on_but_news_is(connection: Connection) -> None:
    await plant_template(connection)
    for event, acts in (("PAUSED", 1), ("PAUSED", 0), ("APPROVED", 1), ("PAUSED", 1), ("PAUSED", 0)):
        await tell_template(connection, event)
        assert await act(connection) == acts
    assert await connection.fetchval("SELECT status FROM templates") == "PAUSED"


async def test_a_dated_event_that_comes_late_changes_nothing(connection: Connection) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection)
    await tell_template(connection, "APPROVED", time=1780000100)
    await tell_template(connection, "PAUSED", time=1780000000)
    await tell_template(connection, "APPROVED", time=1780000100)
    assert await act(connection) == 2
    assert (await campaign_row(connection, campaign))[0] == "running"


async def test_a_dated_event_is_acted_on_once_whatever_came_between(connection: Connection) -> None:
    """Else a repetition would pause again what a person has resumed."""
    await plant_template(connection)
    for event, time, acts in (
        ("PAUSED", 1780000100, 1),
        ("APPROVED", 1780000000, 1),
        ("PAUSED", 1780000100, 0),
    ):
        await tell_template(connection, event, time=time)
        assert await act(connection) == acts


async def test_news_of_another_template_makes_no_news_of_a_repetition(connection: Connection) -> None:
    """Else it would pause again what a person has resumed."""
    for event, language, acts in (("PAUSED", "pt_BR", 1), ("APPROVED", "pt", 1), ("PAUSED", "pt_BR", 0)):
        await tell_template(connection, event, language)
        assert await act(connection) == acts


async def test_what_is_told_again_with_a_later_date_is_news(connection: Connection) -> None:
    await plant_template(connection)
    for event, time in (("PAUSED", 1780000000), ("APPROVED", 1780000100), ("PAUSED", 1780000200)):
        await tell_template(connection, event, time=time)
        assert await act(connection) == 1
    assert await connection.fetchval("SELECT status FROM templates") == "PAUSED"


async def test_a_later_event_about_another_template_hides_nothing(connection: Connection) -> None:
    await plant_template(connection)
    campaign = await plant_campaign(connection)
    await tell_template(connection, "PAUSED", time=1780000000)
    await tell_template(connection, "APPROVED", "pt", time=1780000100)
    assert await act(connection) == 2
    assert (await campaign_row(connection, campaign))[0] == "paused"


async def test_events_that_waited_are_acted_on_in_their_order(connection: Connection) -> None:
    await plant_template(connection)
    for event in ("PAUSED", "APPROVED", "DISABLED"):
        await tell_template(connection, event)
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
    group = Group(PRODUCT)
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
    await tell(connection, "phone_number_quality_update", value | {"current_limit": "unknown word"})
    assert await act(connection) == 1
    rows = await connection.fetch(
        "SELECT phone_number_id, messaging_limit_tier, synced_at IS NULL FROM numbers"
    )
    assert {tuple(row) for row in rows} == {(NUMBER, "TIER_1K", False), ("2", "TIER_1K", True)}
    await tell(connection, "phone_number_quality_update", {"event": "FLAGGED"})  # of any of them
    assert await act(connection) == 1
    assert await connection.fetchval("SELECT count(synced_at) FROM numbers") == 0


async def test_events_of_numbers_ask_for_a_new_look(connection: Connection) -> None:
    await plant_campaign(connection)
    await connection.execute("UPDATE numbers SET synced_at = now(), messaging_limit_tier = 'TIER_1K'")
    value = {"display_phone_number": "551140000000", "event": "UPGRADE", "current_limit": "TIER_10K"}
    await tell(connection, "phone_number_quality_update", value)
    assert await act(connection) == 1
    assert tuple(await connection.fetchrow("SELECT messaging_limit_tier, synced_at FROM numbers")) == (
        "TIER_10K",
        None,
    )
    for field in ("account_update", "account_alerts", "business_capability_update"):
        await connection.execute("UPDATE numbers SET synced_at = now()")
        await tell(connection, field, {"event": "ACCOUNT_RESTRICTION"})
        assert await act(connection) == 1
        assert await connection.fetchval("SELECT synced_at FROM numbers") is None
    await connection.execute("UPDATE numbers SET synced_at = now()")
    await tell(connection, "something_new", {"a": [1]})
    assert await act(connection) == 1
    assert await connection.fetchval("SELECT synced_at FROM numbers") is not None
    kept = await connection.fetchval("SELECT value FROM account_events WHERE field = 'something_new'")
    assert (orjson.loads(kept) if isinstance(kept, str) else kept) == {"a": [1]}


@asynccontextmanager
async def reconciling(
    pool: Pool, intervals: Intervals | None = None
) -> AsyncIterator[tuple[asyncio.Event, Metrics]]:
    committed, stop, metrics = asyncio.Event(), asyncio.Event(), Metrics()
    often = intervals or Intervals(gather_s=0.0, fold_s=0.05, act_s=0.05, policy_s=0.05)
    running = asyncio.create_task(Reconciler(pool, metrics, committed, often).run(stop))
    try:
        yield committed, metrics
    finally:
        stop.set()
        async with asyncio.timeout(5):
            await running


async def until(pool: Pool, query: str, expected: object) -> None:
    async with asyncio.timeout(15):
        while await pool.fetchval(query) != expected:
            await asyncio.sleep(0)


async def test_a_commit_wakes_the_fold(pool: Pool) -> None:
    async with reconciling(pool, Intervals(gather_s=0.0, fold_s=3600.0)) as (committed, _):
        async with pool.acquire() as connection:
            await plant_campaign(connection)
            tag = Tag(await installation(connection), FIRST_RANGE, 1, 1, 1)
            await put_in_inbox(connection, status_event("w", 2, tag))
        committed.set()
        await until(pool, "SELECT count(*) FROM waiting_events", 0)


async def test_the_loops_outlive_a_lost_database(server_url: str, database_url: str) -> None:
    name = urlsplit(database_url).path[1:]
    async with open_pool(database_url, size=4) as pool, open_pool(server_url, size=1) as server:
        async with pool.acquire() as connection:
            await plant_campaign(connection, on_unknown="resend")
            await plant_template(connection)
            own = await installation(connection)
        async with reconciling(pool):
            for _ in range(3):
                await server.execute(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1", name
                )
            async with asyncio.timeout(15):
                while True:
                    try:
                        async with pool.acquire() as connection:
                            await put_in_inbox(
                                connection, status_event("w", 2, Tag(own, FIRST_RANGE, 1, 1, 1))
                            )
                            await doubt(connection, FIRST_RANGE, 2)
                            await tell_template(connection, "PENDING")
                        break
                    except LOST_CONNECTION:
                        await asyncio.sleep(0)
            await until(pool, "SELECT count(*) FROM waiting_events", 0)
            await until(pool, "SELECT status FROM templates", "PENDING")
            await until(pool, "SELECT deferred FROM tallies", 1)
        async with pool.acquire() as connection:
            assert await state_of(connection, 1) == "sent"


async def test_a_doubt_is_silent_for_as_long_as_the_settings_say(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_campaign(connection, on_unknown="resend-silent")
        await doubt(connection, FIRST_RANGE, 1, 2)
        await connection.execute("UPDATE open_tries SET since = now() - make_interval(hours => seq)")
        await connection.execute("INSERT INTO event_flow VALUES ($1, now())", NUMBER)
    async with reconciling(pool, Intervals(policy_s=0.05, quiet_s=5400.0)):
        await until(pool, "SELECT deferred > 0 FROM tallies", True)
    async with pool.acquire() as connection:
        assert [await state_of(connection, seq) for seq in (1, 2)] == ["unknown", "deferred"]


async def test_a_bug_in_one_of_the_loops_ends_them_all(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever restarts the process tries again; without an end nobody would."""

    async def act(_: Connection) -> int:
        raise ZeroDivisionError

    monkeypatch.setattr(reconciler, "act", act)
    async with asyncio.timeout(15):
        with pytest.raises(ZeroDivisionError):
            await Reconciler(pool, Metrics(), asyncio.Event()).run(asyncio.Event())


@pytest.mark.parametrize("turns", range(6))
async def test_a_loop_that_is_told_to_end_as_its_wait_is_over_ends(turns: int) -> None:
    """Else it would go on for ever where nobody sets the stop: the end of another loop by a bug."""
    over = asyncio.Event()
    over.set()

    async def loop() -> None:
        await reconciler._first_of(over, timeout_s=15)
        await asyncio.Event().wait()

    task = asyncio.create_task(loop())
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    ended, _ = await asyncio.wait([task], timeout=15)
    task.cancel()
    assert ended


async def test_a_drop_is_told_with_both_its_reasons(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program's events are dropped within a minute: to call them eight days old sends people astray."""
    stop = asyncio.Event()

    async def fold_batch(_: Connection) -> Folded:
        stop.set()
        return Folded(taken=1, dropped=1)

    monkeypatch.setattr(reconciler, "fold_batch", fold_batch)
    with capture_logs() as lines:
        await Reconciler(pool, Metrics(), asyncio.Event()).run(stop)
    [told] = [line for line in lines if line["event"] == "events_dropped"]
    assert told["events"] == 1
    assert "in time" in told["why"] and "another program" in told["why"]


async def test_a_connection_that_answers_nothing_is_not_waited_for_a_second_time(
    database_url: str, pool: Pool, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The driver waits for the end of a statement that it gave up: as long again as for the statement."""
    monkeypatch.setattr("engine.webhooks.reconciler.ACQUIRE_S", 0.1)
    await plant_campaign(connection)
    parts = urlsplit(database_url)
    async with proxied(Path(parse_qs(parts.query)["host"][0]) / ".s.PGSQL.5432") as proxy:
        url = f"postgresql://postgres@127.0.0.1:{proxy.port}{parts.path}"
        one = {"size": 1, "command_timeout_s": 5.0}
        async with open_pool(url, **one) as through, open_pool(url, **one) as patient:
            proxy.vanish()
            waiting = asyncio.create_task(patient.fetchval("SELECT 1"))
            seldom = Intervals(gather_s=0.0, act_s=3600.0, policy_s=3600.0)
            async with reconciling(through, seldom):
                await put_in_inbox(
                    connection,
                    status_event("w", 2, Tag(await installation(connection), FIRST_RANGE, 1, 1, 1)),
                )
                await until(pool, "SELECT count(*) FROM waiting_events", 0)
                assert not waiting.done()
            with pytest.raises(TimeoutError):
                await waiting
