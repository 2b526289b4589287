"""Taking, paging, marking, retrying, letting go: what one owner may claim, and that a stale one may nothing."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from engine.core.retry import Budget
from engine.core.states import CampaignEvent
from engine.process import this_process
from engine.store import claims
from engine.store.campaign_states import apply_event
from engine.store.claims import (
    Candidate,
    ClaimRefused,
    HeldRange,
    Raise,
    adopt_ranges,
    claim_retries,
    due_retries,
    known_above,
    let_go_ranges,
    own_ranges,
    page,
    postpone_retries,
    raise_mark,
    raise_marks,
    read_mark,
    release_ranges,
    take_range,
    unsent_claims,
)
from engine.store.closing import close_ranges
from engine.store.database import Connection, Pool
from engine.store.facts import Fact, FactKind
from engine.store.leases import Lease, take
from engine.store.queries import queries
from engine.store.recording import record
from tests.flow.planted import (
    FAST,
    SLOW,
    Planted,
    another_process,
    assert_tallies_hold,
    counts,
    plant_campaign,
    plant_numbers,
)


@pytest.fixture
async def connection(pool: Pool) -> AsyncIterator[Connection]:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80, FAST: 1000})
        yield connection


async def owned(connection: Connection, **campaign: object) -> tuple[Planted, Lease, HeldRange]:
    """A planted campaign, a number of a process that is dead by now, and the range that it took."""
    planted = await plant_campaign(connection, **campaign)  # type: ignore[arg-type]
    lease = await take(connection, SLOW, another_process())
    held = await take_range(connection, lease, planted.campaign_id)
    assert held is not None
    return planted, lease, held


def fact(
    held: HeldRange, seq: int, kind: FactKind, attempt_try: int = 1, epoch: int = 1, wait_s: float = 0
) -> Fact:
    wamid = f"wamid.{seq}.{attempt_try}" if kind is FactKind.ACCEPTED else None
    return Fact(
        held.campaign_id, held.range_id, seq, attempt_try, epoch, SLOW, kind, wamid, reason="test", wait_s=wait_s
    )  # fmt: skip


async def holders(connection: Connection) -> dict[int, str | None]:
    rows = await connection.fetch("SELECT range_id, phone_number_id FROM ranges")
    return {row["range_id"]: row["phone_number_id"] for row in rows}


async def deferred(connection: Connection) -> tuple[Lease, HeldRange, list[Candidate]]:
    """A range as of `owned`, and its first recipient, who waits for another try."""
    _, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 1, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    return lease, held, await due_retries(connection, [held], 10)


async def waits(looking: Connection, waiting: Connection, work: asyncio.Task[Any]) -> None:
    """Return when the connection waits for a lock, or when the work that should have waited is done."""
    pid = waiting.get_server_pid()
    async with asyncio.timeout(15):
        while not work.done() and not await looking.fetchval(
            "SELECT cardinality(pg_blocking_pids($1)) > 0", pid
        ):
            await asyncio.sleep(0)


async def test_ranges_are_taken_in_order_and_a_lost_number_takes_none(connection: Connection) -> None:
    planted = await plant_campaign(connection, recipients=25, range_size=10)
    lease = await take(connection, SLOW, another_process())
    first = await take_range(connection, lease, planted.campaign_id)
    second = await take_range(connection, lease, planted.campaign_id)
    assert [first and first.range_id, second and second.range_id] == planted.range_ids[:2]
    assert [held.range_id for held in await own_ranges(connection, lease)] == planted.range_ids[:2]
    done = "UPDATE ranges SET state = 'done', phone_number_id = NULL WHERE range_id = $1"
    await connection.execute(done, planted.range_ids[0])
    successor = await take(connection, SLOW, this_process())
    assert await take_range(connection, lease, planted.campaign_id) is None
    last = await take_range(connection, successor, planted.campaign_id)
    assert last is not None and last.hi == 5
    assert await take_range(connection, successor, planted.campaign_id) is None


async def test_a_number_that_finds_no_free_range_writes_nothing(connection: Connection) -> None:
    planted, lease, _ = await owned(connection, recipients=2, range_size=10)
    async with connection.transaction():
        assert await take_range(connection, lease, planted.campaign_id) is None
        assert await connection.fetchval("SELECT pg_current_xact_id_if_assigned()") is None


async def test_many_owners_at_once_never_take_one_range_twice(pool: Pool, connection: Connection) -> None:
    planted = await plant_campaign(connection, recipients=40, range_size=2)
    leases = [await take(connection, number, this_process()) for number in (SLOW, FAST)]

    async def take_all(lease: Lease) -> list[int]:
        taken = []
        async with pool.acquire() as own:
            while (held := await take_range(own, lease, planted.campaign_id)) is not None:
                taken.append(held.range_id)
        return taken

    hauls = await asyncio.gather(*(take_all(lease) for lease in leases * 3))
    taken = [range_id for haul in hauls for range_id in haul]
    assert sorted(taken) == planted.range_ids


async def test_a_page_holds_who_is_above_the_mark_and_not_skipped_by_the_plan(connection: Connection) -> None:
    planted, lease, held = await owned(connection, recipients=10, skipped=[4, 6])
    await raise_mark(connection, lease, held, 3, [])
    found = await page(connection, held)
    assert [one.seq for one in found] == [4, 6, 8, 9, 10]
    assert [one.phone for one in found][:2] == [planted.phones[3], planted.phones[5]]
    assert found[0] == Candidate(
        planted.campaign_id, held.range_id, 4, planted.phones[3], ["Ana 4", "LH-4"], opted_out=False
    )


async def test_a_raise_from_another_mark_or_beyond_the_range_is_refused(connection: Connection) -> None:
    _, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 4, [])
    stale, ahead = (HeldRange(held.range_id, held.campaign_id, held.hi, mark, "open") for mark in (0, 6))
    for wrong, mark in ((stale, 6), (ahead, 8), (held, 11)):
        with pytest.raises(ClaimRefused):
            await raise_mark(connection, lease, wrong, mark, [fact(held, 5, FactKind.SKIPPED, 0)])
    assert await read_mark(connection, lease, held) == held.mark == 4
    assert await connection.fetchval("SELECT count(*) FROM outcomes") == 0, "refused with all it decided"


async def test_what_the_guard_decides_is_stored_with_the_raise(connection: Connection) -> None:
    planted, lease, held = await owned(connection)
    decided = [fact(held, 2, FactKind.SKIPPED, 0), fact(held, 3, FactKind.DEFERRED, 0)]
    await raise_mark(connection, lease, held, 5, decided)
    assert await counts(connection, planted.campaign_id) == {"pending": 8, "skipped": 1, "deferred": 1}
    await assert_tallies_hold(connection)
    assert [(one.seq, one.attempt_try) for one in await due_retries(connection, [held], 9)] == [(3, 0)]


async def test_what_is_cut_short_claims_nobody_and_stamps_nothing(
    connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of it would be a doubt about somebody who got nothing, or a claim whose doubt nobody names."""
    _, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 2, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    due, skip = await due_retries(connection, [held], 10), [fact(held, 3, FactKind.SKIPPED, 0)]
    successor = await take(connection, SLOW, this_process())

    def cut(*_: object) -> None:
        raise ConnectionResetError

    monkeypatch.setattr(claims, "record_in_transaction", cut)
    with pytest.raises(ConnectionResetError):
        await raise_mark(connection, lease, held, 5, skip)
    with pytest.raises(ConnectionResetError):
        await claim_retries(connection, lease, due, skip)
    monkeypatch.setattr(claims, "Counter", cut)
    with pytest.raises(ConnectionResetError):
        await adopt_ranges(connection, successor)
    assert await read_mark(connection, lease, held) == held.mark == 2
    assert [row["state"] for row in await connection.fetch("SELECT state FROM open_tries")] == ["deferred"]


async def test_after_a_takeover_every_claim_of_the_stale_owner_is_refused(
    connection: Connection, other: Connection
) -> None:
    planted, lease, held = await owned(connection, recipients=20, range_size=10)
    await raise_mark(other, lease, held, 2, [])
    await record(other, [fact(held, 1, FactKind.DEFERRED), fact(held, 2, FactKind.ACCEPTED)])
    due = await due_retries(other, [held], 10)
    successor = await take(connection, SLOW, this_process())
    await adopt_ranges(connection, successor)
    with pytest.raises(ClaimRefused):
        await raise_mark(other, lease, held, 3, [])
    with pytest.raises(ClaimRefused):
        await read_mark(other, lease, held)
    assert await claim_retries(other, lease, due, [fact(held, 1, FactKind.SKIPPED)]) == {}
    assert await take_range(other, lease, planted.campaign_id) is None
    assert await own_ranges(other, lease) == []
    assert await let_go_ranges(other, lease, [held], 10) == {held.range_id}, "it is told that it lost it"
    await release_ranges(other, lease, [held])
    assert (await holders(connection))[held.range_id] == SLOW
    assert await claim_retries(connection, successor, due, []) == {(held.range_id, 1): 2}


async def test_a_takeover_names_each_doubt_once_and_leaves_what_is_known(connection: Connection) -> None:
    planted, lease, held = await owned(connection, recipients=12, skipped=[1])
    await raise_mark(connection, lease, held, 8, [fact(held, 1, FactKind.SKIPPED, 0)])
    known = [
        fact(held, 3, FactKind.ACCEPTED),
        fact(held, 4, FactKind.FAILED),
        fact(held, 5, FactKind.DEFERRED),
    ]
    await record(connection, known)
    for _ in range(2):
        successor = await take(connection, SLOW, another_process())
        [adopted] = await adopt_ranges(connection, successor)
        assert (adopted.mark, adopted.hi) == (8, 12)
        assert await counts(connection, planted.campaign_id) == {
            "skipped": 2, "accepted": 1, "failed": 1, "deferred": 1, "unknown": 3, "pending": 4,
        }  # fmt: skip
        await assert_tallies_hold(connection)
    assert await adopt_ranges(connection, successor) == [], "what is stamped is no longer a former owner's"
    claims = await connection.fetch("SELECT from_seq, epoch FROM claims ORDER BY epoch")
    assert [tuple(claim) for claim in claims] == [(1, 1), (9, 2), (9, 3)], "who claims from where"
    rows = await connection.fetch(
        "SELECT seq, try, state FROM open_tries WHERE state = 'unknown' ORDER BY seq"
    )
    assert [tuple(row) for row in rows] == [(seq, 1, "unknown") for seq in (6, 7, 8)]


@pytest.mark.parametrize("ends", ["released", "dead"])
async def test_who_had_a_range_and_claimed_nobody_does_not_stand_for_its_next_owner(
    connection: Connection, ends: str
) -> None:
    """Two numbers' first owners have the same epoch, and the same mark where the one handed the range over."""
    planted, lease, held = await owned(connection)
    await release_ranges(connection, lease, [held])
    await connection.execute("UPDATE claims SET claimed_at = now() - interval '1 day'")
    if ends == "dead":
        await connection.execute("UPDATE claims SET epoch = 2")
    other = await take(connection, FAST, another_process())
    assert await take_range(connection, other, planted.campaign_id) is not None
    if ends == "dead":
        other = await take(connection, FAST, another_process())
        await adopt_ranges(connection, other)
    claims = await connection.fetch(
        "SELECT phone_number_id, claimed_at > now() - interval '1 hour' FROM claims WHERE epoch = $1",
        other.epoch,
    )
    assert [tuple(claim) for claim in claims] == [(FAST, True)]


async def test_a_retry_under_way_becomes_a_doubt_unless_the_recipient_was_reached(
    connection: Connection,
) -> None:
    planted, lease, held = await owned(connection, recipients=3)
    await raise_mark(connection, lease, held, 3, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2, 3)])
    due = await due_retries(connection, [held], 10)
    granted = await claim_retries(connection, lease, [one for one in due if one.seq != 3], [])
    assert sorted(granted.values()) == [2, 2]
    assert await counts(connection, planted.campaign_id) == {"pending": 2, "deferred": 1}
    await record(
        connection, [fact(held, 1, FactKind.ACCEPTED)]
    )  # an event: the first try got through after all
    await connection.execute("UPDATE open_tries SET since = now() - interval '1 day'")
    await adopt_ranges(connection, await take(connection, SLOW, this_process()))
    doubted_now = "SELECT since > now() - interval '1 hour' FROM open_tries WHERE state = 'unknown'"
    assert await connection.fetchval(doubted_now), "its silence begins with the doubt"
    assert await counts(connection, planted.campaign_id) == {"accepted": 1, "unknown": 1, "deferred": 1}
    await assert_tallies_hold(connection)


@pytest.mark.parametrize("earlier", [FactKind.ACCEPTED, FactKind.FAILED])
async def test_a_retry_under_way_becomes_a_doubt_though_an_earlier_message_failed(
    connection: Connection, earlier: FactKind
) -> None:
    """By a status after it was accepted, or refused."""
    planted, lease, held = await owned(connection, recipients=1)
    await raise_mark(connection, lease, held, 1, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    await claim_retries(connection, lease, await due_retries(connection, [held], 10), [])
    await record(connection, [fact(held, 1, earlier)])
    await connection.execute("UPDATE outcomes SET status = 3 WHERE kind = 1")
    await connection.execute("UPDATE tallies SET accepted = 0")
    await adopt_ranges(connection, await take(connection, SLOW, this_process()))
    assert await counts(connection, planted.campaign_id) == {"unknown": 1}
    await assert_tallies_hold(connection)


async def test_a_former_owners_late_refusal_ends_the_doubt_that_a_takeover_named(
    connection: Connection,
) -> None:
    planted, lease, held = await owned(connection, recipients=2)
    await raise_mark(connection, lease, held, 2, [])
    await adopt_ranges(connection, await take(connection, SLOW, this_process()))
    await record(connection, [fact(held, 1, FactKind.DEFERRED, epoch=lease.epoch)])
    assert await counts(connection, planted.campaign_id) == {"deferred": 1, "unknown": 1}
    await assert_tallies_hold(connection)


async def test_a_retry_is_due_in_its_time_the_longest_waiting_first(connection: Connection) -> None:
    _, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 10, [])
    await record(connection, [fact(held, 5, FactKind.DEFERRED)])
    later = [fact(held, 2, FactKind.DEFERRED), fact(held, 3, FactKind.DEFERRED, wait_s=60)]
    await record(connection, later)
    due = await due_retries(connection, [held], 10)
    assert [one.seq for one in due] == [5, 2]
    assert [one.seq for one in await due_retries(connection, [held], 1)] == [5]
    await postpone_retries(connection, [(due[0], 60.0, "pair rate")])
    assert [one.seq for one in await due_retries(connection, [held], 10)] == [2]
    await assert_tallies_hold(connection)


async def test_what_earlier_tries_spent_goes_with_the_retry(connection: Connection) -> None:
    """Also where the claim's answer was lost: or nobody would ever run out of tries."""
    _, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 1, [])
    spent = Budget(pair_throttles=1, transient_failures=2, unreachable=3)
    await record(connection, [fact(held, 1, FactKind.DEFERRED)._replace(spent=spent)])
    due = await due_retries(connection, [held], 10)
    await postpone_retries(connection, [(due[0], 0.0, "pair rate")])
    due = await due_retries(connection, [held], 10)
    await claim_retries(connection, lease, due, [])
    unsent = await unsent_claims(connection, lease, [held])
    assert [one.spent for one in (*due, *unsent)] == [spent, spent]


async def test_a_retry_that_the_guard_refuses_is_stored_with_the_claim_of_the_others(
    connection: Connection,
) -> None:
    planted, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 10, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2)])
    due: list[Candidate] = await due_retries(connection, [held], 10)
    granted = await claim_retries(connection, lease, due[:1], [fact(held, due[1].seq, FactKind.SKIPPED)])
    assert granted == {(held.range_id, due[0].seq): 2}
    assert granted == {(held.range_id, due[0].seq): 2}
    assert await counts(connection, planted.campaign_id) == {"pending": 9, "skipped": 1}
    await assert_tallies_hold(connection)


async def test_a_retry_is_claimed_once_and_only_while_it_waits(connection: Connection) -> None:
    _, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 10, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    due = await due_retries(connection, [held], 10)
    assert await claim_retries(connection, lease, due, []) == {(held.range_id, 1): 2}
    assert await claim_retries(connection, lease, due, []) == {}
    await record(connection, [fact(held, 1, FactKind.DEFERRED, 2)])
    assert await claim_retries(connection, lease, due, []) == {}, "that was the try before"
    again = await due_retries(connection, [held], 10)
    await connection.execute("UPDATE open_tries SET state = 'unknown'")
    assert await claim_retries(connection, lease, again, []) == {}, (
        "who is in doubt waits for somebody's word"
    )


async def test_a_retry_is_the_number_that_claims_it(connection: Connection) -> None:
    """Its doubt, and an event without a tag, are looked for by that number."""
    planted, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 1, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    await release_ranges(connection, lease, [held])
    fast = await take(connection, FAST, this_process())
    taken = await take_range(connection, fast, planted.campaign_id)
    assert taken is not None
    await claim_retries(connection, fast, await due_retries(connection, [taken], 10), [])
    assert await connection.fetchval("SELECT phone_number_id FROM open_tries") == FAST


async def test_a_retry_that_meets_a_takeover_is_refused(connection: Connection, other: Connection) -> None:
    """Its claim waits for the stamp, and then looks at the range again."""
    lease, held, due = await deferred(connection)
    successor = await take(other, SLOW, this_process())
    async with other.transaction():
        await adopt_ranges(other, successor)
        claiming = asyncio.create_task(claim_retries(connection, lease, due, []))
        pid = connection.get_server_pid()
        async with asyncio.timeout(15):
            while not await other.fetchval("SELECT cardinality(pg_blocking_pids($1)) > 0", pid):
                await asyncio.sleep(0)
    assert await claiming == {}
    assert await claim_retries(connection, successor, due, []) == {(held.range_id, 1): 2}


async def test_unsent_is_what_this_owner_claimed_and_nobody_wrote(connection: Connection) -> None:
    """A doubt among it would be sent again without anybody's word."""
    _, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 4, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2, 3)])
    await record(connection, [fact(held, 4, FactKind.UNKNOWN)])
    due = {one.seq: one for one in await due_retries(connection, [held], 10)}
    await claim_retries(connection, lease, [due[1], due[2]], [])
    await record(connection, [fact(held, 2, FactKind.UNKNOWN, 2)])
    [unsent] = await unsent_claims(connection, lease, [held])
    assert (unsent.seq, unsent.attempt_try, unsent.epoch, unsent.kind) == (
        1,
        2,
        lease.epoch,
        FactKind.DEFERRED,
    )
    successor = await take(connection, SLOW, this_process())
    await adopt_ranges(connection, successor)
    await claim_retries(connection, successor, [due[3]], [])
    assert await unsent_claims(connection, lease, [held]) == [], "what is claimed now is its successor's"
    assert [one.seq for one in await unsent_claims(connection, successor, [held])] == [3]


async def test_a_retry_tells_who_asked_for_silence_meanwhile(connection: Connection) -> None:
    planted, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 10, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2)])
    await connection.execute(
        "INSERT INTO suppressions (phone, reason) VALUES ($1, 'test')", planted.phones[1]
    )
    assert {one.seq: one.opted_out for one in await due_retries(connection, [held], 10)} == {
        1: False,
        2: True,
    }


async def test_who_asks_for_silence_after_the_look_is_granted_no_retry(connection: Connection) -> None:
    planted, lease, held = await owned(connection)
    await raise_mark(connection, lease, held, 10, [])
    await record(connection, [fact(held, seq, FactKind.DEFERRED) for seq in (1, 2)])
    due = await due_retries(connection, [held], 10)
    await connection.execute(
        "INSERT INTO suppressions (phone, reason) VALUES ($1, 'test')", planted.phones[1]
    )
    assert await claim_retries(connection, lease, due, []) == {(held.range_id, 1): 2}
    assert [(one.seq, one.opted_out) for one in await due_retries(connection, [held], 10)] == [(2, True)]


async def test_only_a_range_with_nothing_left_is_finished(connection: Connection) -> None:
    _, lease, held = await owned(connection, recipients=2)
    await raise_mark(connection, lease, held, 2, [])
    await record(connection, [fact(held, 1, FactKind.ACCEPTED)])
    assert await let_go_ranges(connection, lease, [held], 10) == set(), "one is under way"
    await record(connection, [fact(held, 2, FactKind.UNKNOWN)])
    assert await let_go_ranges(connection, lease, [held], 10) == {held.range_id}
    row = await connection.fetchrow("SELECT state, phone_number_id FROM ranges")
    assert row is not None and tuple(row) == ("done", None)


async def test_a_closed_range_is_let_go_and_stays_closed(connection: Connection) -> None:
    """Were it done, those above its mark would wait for ever."""
    planted, lease, held = await owned(connection, recipients=2)
    await raise_mark(connection, lease, held, 1, [])
    await record(connection, [fact(held, 1, FactKind.ACCEPTED)])
    await close_ranges(connection, planted.campaign_id, "cancelled")
    assert await let_go_ranges(connection, lease, [held], 10) == {held.range_id}
    assert await connection.fetchval("SELECT state FROM ranges WHERE phone_number_id IS NULL") == "closed"
    await assert_tallies_hold(connection)


@pytest.mark.parametrize("last", [FactKind.SKIPPED, FactKind.DEFERRED])
async def test_a_range_ends_whatever_became_of_its_recipients(connection: Connection, last: FactKind) -> None:
    """Whoever waits an hour parks it; else it is done."""
    planted, lease, held = await owned(connection, recipients=7)
    await raise_mark(connection, lease, held, 7, [])
    facts = [fact(held, seq, FactKind.ACCEPTED) for seq in (1, 2, 3, 4)]
    facts += [
        fact(held, 5, FactKind.FAILED),
        fact(held, 6, FactKind.UNKNOWN),
        fact(held, 7, last, wait_s=3_600),
    ]
    await record(connection, facts)
    await connection.execute("UPDATE outcomes SET status = seq WHERE seq IN (2, 4)")  # sent and delivered
    await connection.execute("UPDATE outcomes SET status = 5 WHERE seq = 3")  # read
    await connection.execute("UPDATE tallies SET accepted = 1, sent = 1, delivered = 1, read = 1")
    await assert_tallies_hold(connection)
    assert len(await counts(connection, planted.campaign_id)) == 7
    assert await let_go_ranges(connection, lease, [held], 10) == {held.range_id}


async def test_a_range_that_is_not_done_is_looked_at_without_a_lock(
    connection: Connection, other: Connection
) -> None:
    """Outcomes that are being stored hold the tallies; a look every half second must not wait for them."""
    _, lease, held = await owned(connection, recipients=2)
    await raise_mark(connection, lease, held, 2, [])
    async with other.transaction():
        await other.execute("SELECT FROM tallies WHERE range_id = $1 FOR UPDATE", held.range_id)
        async with asyncio.timeout(10):
            assert await let_go_ranges(connection, lease, [held], 10) == set()


async def test_a_range_that_was_lost_is_let_go(connection: Connection) -> None:
    _, lease, held = await owned(connection, recipients=2)
    await adopt_ranges(connection, await take(connection, SLOW, another_process()))
    assert await let_go_ranges(connection, lease, [held], 10) == {held.range_id}


async def test_a_range_is_parked_until_its_first_deferred_is_due(connection: Connection) -> None:
    planted, lease, held = await owned(connection, recipients=3)
    await raise_mark(connection, lease, held, 3, [])
    await record(connection, [fact(held, 1, FactKind.ACCEPTED), fact(held, 2, FactKind.DEFERRED, wait_s=60)])
    assert await let_go_ranges(connection, lease, [held], 10) == set(), "one is under way"
    await record(connection, [fact(held, 3, FactKind.DEFERRED, wait_s=5)])
    assert await let_go_ranges(connection, lease, [held], 10) == set(), "one is due soon"
    assert await let_go_ranges(connection, lease, [held], 1) == {held.range_id}
    assert await take_range(connection, lease, planted.campaign_id) is None, "nothing to do in it yet"
    waits_s = await connection.fetchval("SELECT extract(epoch FROM due_at - now())::float8 FROM ranges")
    assert 0 < waits_s <= 5
    await connection.execute("UPDATE ranges SET due_at = now()")
    again = await take_range(connection, lease, planted.campaign_id)
    assert again is not None and again.mark == 3


async def test_a_range_given_back_is_free_at_once_or_when_its_deferred_are_due(
    connection: Connection,
) -> None:
    planted, lease, first = await owned(connection, recipients=4, range_size=2)
    second = await take_range(connection, lease, planted.campaign_id)
    assert second is not None
    for held, mark in ((first, 1), (second, 2)):
        await raise_mark(connection, lease, held, mark, [])
    deferred = [fact(second, 1, FactKind.DEFERRED, wait_s=60), fact(second, 2, FactKind.DEFERRED, wait_s=90)]
    await record(connection, [fact(first, 1, FactKind.DEFERRED, wait_s=60), *deferred])
    await release_ranges(connection, lease, [first, second])
    assert set((await holders(connection)).values()) == {None}
    waits_s = await connection.fetchval(
        "SELECT extract(epoch FROM due_at - now())::float8 FROM ranges WHERE range_id = $1", second.range_id
    )
    assert 50 < waits_s <= 60
    fast = await take(connection, FAST, this_process())
    taken = await take_range(connection, fast, planted.campaign_id)
    assert taken is not None and (taken.range_id, taken.mark) == (first.range_id, 1)
    assert await take_range(connection, fast, planted.campaign_id) is None


async def test_whom_the_plan_skipped_keeps_no_range_with_its_number(connection: Connection) -> None:
    _, lease, held = await owned(connection, recipients=2, skipped=[0])
    await raise_mark(connection, lease, held, 2, [])
    await record(connection, [fact(held, 2, FactKind.ACCEPTED)])
    await release_ranges(connection, lease, [held])
    assert await holders(connection) == {held.range_id: None}


async def test_a_raise_and_a_takeover_that_interleave_leave_one_owner(
    connection: Connection, other: Connection, pool: Pool
) -> None:
    """Whichever commits first: what was marked is either sent by the old owner or doubted by the new one."""
    planted, lease, held = await owned(connection, recipients=200)
    for turn in range(15):
        successor = await take(connection, SLOW, another_process())
        raised, adopted = await asyncio.gather(
            raise_mark(other, lease, held, held.mark + 1, []),
            adopt_ranges(connection, successor),
            return_exceptions=True,
        )
        assert raised is None or isinstance(raised, ClaimRefused), turn
        assert isinstance(adopted, list)
        doubts = (await counts(connection, planted.campaign_id))["unknown"]
        assert doubts == adopted[0].mark, "everything marked before the stamp is doubted, nothing after it"
        with pytest.raises(ClaimRefused):
            await raise_mark(other, lease, adopted[0], adopted[0].mark + 1, [])
        lease, held = successor, adopted[0]
    await assert_tallies_hold(connection)


async def test_a_later_try_under_way_keeps_its_range_though_an_earlier_one_was_reached(
    connection: Connection,
) -> None:
    """Should the earlier message fail, the later one would be nobody's."""
    _, lease, held = await owned(connection, recipients=2)
    await raise_mark(connection, lease, held, 2, [])
    await record(connection, [fact(held, 1, FactKind.UNKNOWN), fact(held, 2, FactKind.ACCEPTED)])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    [due] = await due_retries(connection, [held], 10)
    await claim_retries(connection, lease, [due], [])
    await record(connection, [fact(held, 1, FactKind.ACCEPTED)])
    assert await let_go_ranges(connection, lease, [held], -1.0) == set()
    await record(connection, [fact(held, 1, FactKind.ACCEPTED, 2)])
    assert await let_go_ranges(connection, lease, [held], -1.0) == {held.range_id}
    await assert_tallies_hold(connection)


async def test_a_parked_range_has_no_later_try_under_way(connection: Connection) -> None:
    _, lease, held = await owned(connection, recipients=2)
    await raise_mark(connection, lease, held, 2, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED), fact(held, 2, FactKind.DEFERRED, wait_s=60)])
    [due] = await due_retries(connection, [held], 10)
    await claim_retries(connection, lease, [due], [])
    await record(connection, [fact(held, 1, FactKind.ACCEPTED)])
    assert await let_go_ranges(connection, lease, [held], 10.0) == set()
    await record(connection, [fact(held, 1, FactKind.ACCEPTED, 2)])
    assert await let_go_ranges(connection, lease, [held], 10.0) == {held.range_id}


async def test_what_is_ours_waits_for_a_taking_whose_answer_was_lost(
    connection: Connection, other: Connection
) -> None:
    """Its COMMIT may arrive long after its client gave up: nobody else would ever look into that range."""
    planted = await plant_campaign(connection, recipients=4)
    lease = await take(connection, SLOW, this_process())
    lost = other.transaction()
    await lost.start()
    held = await take_range(other, lease, planted.campaign_id)
    assert held is not None
    asked = asyncio.create_task(own_ranges(connection, lease))
    await waits(other, connection, asked)
    await lost.commit()
    assert [one.range_id for one in await asked] == [held.range_id]


async def test_what_is_unsent_waits_for_a_claim_whose_answer_was_lost(
    connection: Connection, other: Connection
) -> None:
    """Else it would be nobody's: claimed by us, and not among what we give up."""
    lease, held, due = await deferred(connection)
    async with other.transaction():
        assert await claim_retries(other, lease, due, []) == {(held.range_id, 1): 2}
        asked = asyncio.create_task(unsent_claims(connection, lease, [held]))
        await waits(other, connection, asked)
    assert [(one.seq, one.attempt_try) for one in await asked] == [(1, 2)]


async def test_a_range_stays_with_its_number_while_a_claim_without_an_answer_is_under_way(
    connection: Connection, other: Connection
) -> None:
    """A range that nobody holds is nobody's to name the doubts of."""
    lease, held, due = await deferred(connection)
    async with other.transaction():
        assert await claim_retries(other, lease, due, []) == {(held.range_id, 1): 2}
        releasing = asyncio.create_task(release_ranges(connection, lease, [held]))
        await waits(other, connection, releasing)
    await releasing
    assert await holders(connection) == {held.range_id: SLOW}


async def test_a_range_that_is_given_back_while_its_number_is_taken_over_is_not_adopted(
    connection: Connection, other: Connection
) -> None:
    """Another number may have it by then."""
    _, lease, held = await owned(connection)
    successor = await take(connection, SLOW, this_process())
    async with other.transaction():
        await release_ranges(other, lease, [held])
        adopting = asyncio.create_task(adopt_ranges(connection, successor))
        await waits(other, connection, adopting)
    assert await adopting == []


async def test_who_got_a_message_that_the_database_forgot_is_not_claimed_again(
    connection: Connection,
) -> None:
    """After a restored backup events tell of recipients above the mark; a page may be older than they."""
    _, lease, held = await owned(connection, recipients=5)
    before = await page(connection, held)
    await record(connection, [fact(held, 2, FactKind.ACCEPTED), fact(held, 5, FactKind.ACCEPTED)])
    assert [one.seq for one in await page(connection, held)] == [1, 3, 4]
    assert await raise_marks(connection, [Raise(lease, held, 3, before[:3])]) == set()
    assert await known_above(connection, held, 3) == {2}
    await raise_mark(connection, lease, held, 3, [])
    assert await known_above(connection, held, 4) == set()
    assert await raise_marks(connection, [Raise(lease, held, 4, before[3:4])]) == {
        (held.range_id, lease.epoch)
    }
    await assert_tallies_hold(connection)


async def test_of_whom_anything_is_recorded_is_no_first_try(connection: Connection) -> None:
    """A sender that outlived the restored database still stores what it knows, above marks that went back."""
    _, lease, held = await owned(connection, recipients=5)
    before = await page(connection, held)
    await record(
        connection,
        [
            fact(held, 1, FactKind.UNKNOWN),
            fact(held, 2, FactKind.DEFERRED),
            fact(held, 3, FactKind.FAILED),
        ],
    )
    assert [one.seq for one in await page(connection, held)] == [4, 5]
    for mark in (1, 2, 3):
        assert await raise_marks(connection, [Raise(lease, held, mark, before[:mark])]) == set()
    assert [await known_above(connection, held, mark) for mark in (1, 2, 3)] == [{1}, {1, 2}, {1, 2, 3}]
    await raise_mark(connection, lease, held, 5, [])
    await assert_tallies_hold(connection)


@pytest.mark.parametrize("last", [FactKind.ACCEPTED, FactKind.DEFERRED])
async def test_what_became_of_the_last_claimed_holds_up_nobody_behind(
    connection: Connection, last: FactKind
) -> None:
    _, lease, held = await owned(connection, recipients=5)
    await raise_mark(connection, lease, held, 3, [])
    await record(connection, [fact(held, 3, last)])
    assert await known_above(connection, held, 5) == set()
    behind = await page(connection, held)
    assert await raise_marks(connection, [Raise(lease, held, 5, behind)]) == {(held.range_id, lease.epoch)}


async def test_closing_skips_only_those_of_whom_nothing_is_recorded(connection: Connection) -> None:
    planted, _, held = await owned(connection, recipients=6)
    await record(
        connection,
        [
            fact(held, 1, FactKind.ACCEPTED),
            fact(held, 2, FactKind.UNKNOWN),
            fact(held, 3, FactKind.DEFERRED),
            fact(held, 4, FactKind.FAILED),
        ],
    )
    await apply_event(connection, planted.campaign_id, CampaignEvent.CANCEL, "by hand")
    assert await close_ranges(connection, planted.campaign_id, "cancelled") == 3
    await assert_tallies_hold(connection)
    rows = await connection.fetch(queries("report")["reasons"], planted.campaign_id, 10)
    assert sum(row["recipients"] for row in rows if row["state"] == "skipped") == 3


async def test_a_range_and_a_retry_are_claimed_only_of_a_campaign_that_runs(connection: Connection) -> None:
    """By the database's word: what a process knows of it may be half a second old."""
    planted, lease, held = await owned(connection, recipients=8, range_size=4)
    await raise_mark(connection, lease, held, held.hi, [])
    await record(connection, [fact(held, 1, FactKind.DEFERRED)])
    await apply_event(connection, planted.campaign_id, CampaignEvent.PAUSE, "by hand")
    due = await due_retries(connection, [held], 10)
    assert [one.seq for one in due] == [1]
    assert await claim_retries(connection, lease, due, []) == {}
    assert await take_range(connection, lease, planted.campaign_id) is None
    await apply_event(connection, planted.campaign_id, CampaignEvent.RESUME, "")
    assert len(await claim_retries(connection, lease, due, [])) == 1
    assert await take_range(connection, lease, planted.campaign_id) is not None
    await assert_tallies_hold(connection)


# ---- recipients of two ranges have the same places in them


async def two_ranges(connection: Connection, size: int = 2) -> tuple[Planted, Lease, HeldRange, HeldRange]:
    planted, lease, first = await owned(connection, recipients=2 * size, range_size=size)
    second = await take_range(connection, lease, planted.campaign_id)
    assert second is not None
    for held in (first, second):
        await raise_mark(connection, lease, held, 2, [])
    return planted, lease, first, second


async def test_a_takeover_doubts_each_range_by_what_is_known_in_it(connection: Connection) -> None:
    planted, _, first, _ = await two_ranges(connection)
    await record(connection, [fact(first, 1, FactKind.ACCEPTED), fact(first, 2, FactKind.DEFERRED)])
    await adopt_ranges(connection, await take(connection, SLOW, this_process()))
    assert await counts(connection, planted.campaign_id) == {"accepted": 1, "deferred": 1, "unknown": 2}
    await assert_tallies_hold(connection)


async def test_who_is_known_in_one_range_is_a_first_try_in_another(connection: Connection) -> None:
    planted, lease, first, second = await two_ranges(connection, size=4)
    await record(connection, [fact(first, 3, FactKind.ACCEPTED), fact(first, 4, FactKind.DEFERRED)])
    candidates = await page(connection, second)
    assert [(one.seq, one.phone) for one in candidates] == [(3, planted.phones[6]), (4, planted.phones[7])]
    assert await known_above(connection, second, 4) == set()
    claimed = await raise_marks(connection, [Raise(lease, second, 4, candidates)])
    assert claimed == {(second.range_id, lease.epoch)}


async def test_a_range_is_given_back_finished_or_parked_by_its_own_recipients(connection: Connection) -> None:
    """Of whom a range that nobody holds says nothing, nobody would ever ask again."""
    _, lease, first, second = await two_ranges(connection)
    await record(connection, [fact(first, seq, FactKind.DEFERRED, wait_s=60) for seq in (1, 2)])
    await record(connection, [fact(second, 1, FactKind.DEFERRED, wait_s=90)])
    assert await let_go_ranges(connection, lease, [first, second], 10) == {first.range_id}, "parked"
    await connection.execute("UPDATE ranges SET due_at = now()")
    assert await take_range(connection, lease, first.campaign_id) is not None
    await release_ranges(connection, lease, [first, second])
    assert await holders(connection) == {first.range_id: None, second.range_id: SLOW}
    assert await take_range(connection, lease, first.campaign_id) is None, "due when its own are"
    await connection.execute("UPDATE ranges SET due_at = now()")
    assert await take_range(connection, lease, first.campaign_id) is not None
    await record(connection, [fact(first, seq, FactKind.ACCEPTED) for seq in (1, 2)])
    await release_ranges(connection, lease, [second])
    assert await let_go_ranges(connection, lease, [first, second], 10) == {first.range_id}, "finished"
    assert await holders(connection) == {first.range_id: None, second.range_id: SLOW}


async def test_a_retry_is_claimed_in_its_own_range(connection: Connection) -> None:
    planted, lease, first, second = await two_ranges(connection)
    await record(
        connection, [fact(held, seq, FactKind.DEFERRED) for held in (first, second) for seq in (1, 2)]
    )
    due = {(one.range_id, one.seq): one for one in await due_retries(connection, [first, second], 10)}
    phones = [due[held.range_id, seq].phone for held in (first, second) for seq in (1, 2)]
    assert phones == planted.phones
    wanted = [due[first.range_id, 1], due[second.range_id, 2]]
    granted = await claim_retries(connection, lease, wanted, [])
    assert granted == {(first.range_id, 1): 2, (second.range_id, 2): 2}
    await assert_tallies_hold(connection)
    await postpone_retries(connection, [(due[first.range_id, 2], 60.0, "pair rate")])
    left = await due_retries(connection, [first, second], 10)
    assert [(one.range_id, one.seq) for one in left] == [(second.range_id, 1)]
