"""Any order of claims, replies, opt-outs and hours that pass: nobody gets what a guard forbids, and everybody
else gets the message. Four campaigns with the same people share two numbers; the clock moves by hours.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from itertools import count
from typing import Any
from zoneinfo import ZoneInfo

import orjson
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from drumbeat.engine.clock import monotonic_ns
from drumbeat.engine.core.events.records import IncomingMessage, Parsed
from drumbeat.engine.core.limits.daily_window import DailyWindow
from drumbeat.engine.core.limits.frequency_cap import FrequencyCap
from drumbeat.engine.core.limits.guard import PairGuard
from drumbeat.engine.core.limits.sending_hours import SendingHours
from drumbeat.engine.sending import campaign_cache, claim_batcher, feeder
from drumbeat.engine.sending.feeder import Feeder
from drumbeat.engine.sending.first_attempts import FirstAttempts
from drumbeat.engine.sending.messages import GrantedClaims, RunningCampaign
from drumbeat.engine.sending.number_quota import NumberQuota
from drumbeat.engine.sending.recipient_hours import RecipientHours
from drumbeat.engine.sending.retries import Retries
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.inbox import EventFlow, write_together
from drumbeat.engine.store.leases import Lease, take_lease
from drumbeat.engine.store.ranges import HeldRange, put_off
from drumbeat.engine.store.recording import record
from tests.examples import examples
from tests.sending.planted import FAST, SLOW, another_process, context_of, plant_campaign, plant_numbers

# The clocks of New York have gone forward, those of Berlin will in the night to the 29th.
BEGIN = datetime(2026, 3, 28, 12, 30, tzinfo=UTC)
HOURS = SendingHours((DailyWindow.between(time(9), time(20)),))
# Two people of each, in the order of their phones. One Brazilian has another spelling in every second campaign.
ZONES = ("America/New_York", "Africa/Lagos,Europe/Berlin", "Asia/Tokyo")
PEOPLE = ([12125550101, 12125550102, 4930901820, 5511987654321, 81312345678, 81312345679],
          [12125550101, 12125550102, 4930901820, 551187654321, 81312345678, 81312345679])  # fmt: skip
PERIOD_H = 30
CAPS = (1, 1, 2, None)  # of the campaigns; the last one has no guard at all

steps = st.one_of(
    st.tuples(st.just("claim"), st.lists(st.tuples(st.integers(0, 1), st.integers(1, 3)), min_size=1, max_size=2, unique_by=lambda each: each[0])),
    st.tuples(st.just("reply"), st.integers(0, 9), st.sampled_from((FactKind.ACCEPTED, FactKind.FAILED, FactKind.DEFERRED, FactKind.UNKNOWN))),
    st.tuples(st.just("stop"), st.integers(0, 5)),
    st.tuples(st.just("pass_hours"), st.integers(1, 15)),
)  # fmt: skip


@dataclass
class Message:
    """A message that was claimed. `at_h`: when it was, or when it came in doubt."""

    campaign: int
    person: int
    candidate: Any
    attempt_no: int
    epoch: int
    number: str
    at_h: int
    kind: FactKind | None = None

    def counts(self, now_h: int) -> bool:
        settled = self.kind in (FactKind.ACCEPTED, FactKind.UNKNOWN)
        return self.kind is None or (settled and now_h - self.at_h < PERIOD_H)


@dataclass
class Number:
    lease: Lease
    feeder: Feeder
    first_attempts: FirstAttempts
    retries: Retries


@dataclass
class World:
    connection: Connection
    campaigns: list[int]
    numbers: list[Number] = field(default_factory=list)
    now_h: int = 0
    stopped: set[int] = field(default_factory=set)
    messages: list[Message] = field(default_factory=list)
    judged: set[tuple[int, int]] = field(default_factory=set)
    wamids: Any = field(default_factory=count)

    @property
    def now(self) -> datetime:
        return BEGIN + timedelta(hours=self.now_h)

    async def claim(self, asked: list[tuple[int, int]]) -> None:
        """One or two numbers claim at once."""
        granted = await asyncio.gather(*(self._claim(self.numbers[index], limit) for index, limit in asked))
        claims = [
            (self.numbers[index].lease, grant)
            for (index, _), grants in zip(asked, granted, strict=True)
            for grant in grants
        ]
        found = [
            self._message(lease, grant, at) for lease, grant in claims for at in range(len(grant.candidates))
        ]
        # Two claims at once have no order. If any order is allowed, the one with the lower cap first is.
        for message in sorted(found, key=lambda each: CAPS[each.campaign] or 99):
            self.assert_allowed(message)
            self.messages.append(message)
        await self.judge_skips()

    async def _claim(self, number: Number, limit: int) -> list[GrantedClaims]:
        await number.feeder.put_off_closed()
        granted = [await number.retries.claim(monotonic_ns(), limit)]
        if (feed := await number.feeder.feed()) is not None:
            granted.append(await number.first_attempts.claim(feed, limit))
        return granted

    def _message(self, lease: Lease, granted: GrantedClaims, at: int) -> Message:
        candidate = granted.candidates[at]
        campaign = self.campaigns.index(candidate.campaign_id)
        return Message(
            campaign,
            person(candidate.phone),
            candidate,
            granted.attempt_nos[at],
            lease.epoch,
            lease.phone_number_id,
            self.now_h,
        )

    def assert_allowed(self, message: Message) -> None:
        assert message.person not in self.stopped, "whoever opted out gets nothing"
        if CAPS[message.campaign] is None:
            return
        for zone in ZONES[message.person // 2].split(","):
            assert 9 <= self.now.astimezone(ZoneInfo(zone)).hour < 20, f"quiet hours in {zone}"
        assert self.got(message.campaign, message.person) < (CAPS[message.campaign] or 0), "over the cap"
        assert not any(
            each.campaign == message.campaign
            and each.person == message.person
            and each.kind in (None, FactKind.ACCEPTED)
            for each in self.messages
        ), "twice"

    def got(self, campaign: int, who: int) -> int:
        return sum(
            each.person == who and each.campaign != campaign and each.counts(self.now_h)
            for each in self.messages
        )

    async def judge_skips(self) -> None:
        """Whoever is skipped was kept from the message by a guard."""
        rows = await self.connection.fetch(
            "SELECT campaign_id, range_id, seq, phone, reason FROM recipient_states WHERE state = 'skipped'"
        )
        for row in rows:
            key = row["range_id"], row["seq"]
            if key in self.judged:
                continue
            self.judged.add(key)
            campaign, who = self.campaigns.index(row["campaign_id"]), person(row["phone"])
            if row["reason"] == "opted out":
                assert who in self.stopped
            else:
                assert row["reason"] == f"frequency cap: {CAPS[campaign]} in {PERIOD_H} h"
                assert self.got(campaign, who) >= (CAPS[campaign] or 99)

    async def reply(self, index: int, kind: FactKind) -> None:
        waiting = [message for message in self.messages if message.kind is None]
        if index < len(waiting):
            await self._record(waiting[index], kind)

    async def _record(self, message: Message, kind: FactKind) -> None:
        one, late_us = message.candidate, (self.now_h - message.at_h) * 3_600 * 10**6
        sent_us = int(datetime.now(UTC).timestamp() * 1e6) - late_us
        wamid = f"w{next(self.wamids)}" if kind is FactKind.ACCEPTED else None
        attempt = (one.campaign_id, one.range_id, one.seq, message.attempt_no, message.epoch, message.number)
        await record(self.connection, [Fact(*attempt, kind, wamid, reason="test", attempted_us=sent_us)])
        message.kind = kind
        if kind is FactKind.UNKNOWN:
            message.at_h = self.now_h

    async def stop(self, who: int) -> None:
        body = orjson.dumps({"text": {"body": "Stop!"}}).decode()
        wamid = f"i{next(self.wamids)}"
        message = IncomingMessage(wamid, SLOW, str(PEOPLE[0][who]), "text", BEGIN, body)
        await write_together(self.connection, Parsed(messages=[message]), EventFlow())
        self.stopped.add(who)

    async def pass_hours(self, hours: int) -> None:
        """The database's clock cannot be moved, so everything that is stored becomes older."""
        self.now_h += hours
        for table, columns in (
            ("outcomes", ["attempted_at"]),
            ("pending_attempts", ["since", "due_at"]),
            ("ranges", ["due_at"]),
        ):
            moved = ", ".join(f"{column} = {column} - make_interval(hours => $1)" for column in columns)
            await self.connection.execute(f"UPDATE {table} SET {moved}", hours)

    async def put_off(
        self, connection: Connection, lease: Lease, held: HeldRange, due_at: datetime, reason: str
    ) -> bool:
        return await put_off(connection, lease, held, datetime.now(UTC) + (due_at - self.now), reason)

    async def finish(self) -> None:
        for _ in range(11):
            for message in [each for each in self.messages if each.kind is None]:
                await self._record(message, FactKind.ACCEPTED)
            for index in (0, 1):
                for _ in range(4):
                    await self.claim([(index, 9)])
            await self.pass_hours(3)


def person(phone: int) -> int:
    return next(people.index(phone) for people in PEOPLE if phone in people)


def guarded(campaign_id: int, cap: int | None, world: World) -> RunningCampaign:
    hours = SendingHours() if cap is None else HOURS
    limit = None if cap is None else FrequencyCap(cap, timedelta(hours=PERIOD_H))
    by_recipient = RecipientHours(hours, ZONES, lambda: world.now)
    return RunningCampaign(
        campaign_id, "c", [], 2, [SLOW, FAST], SendingHours(), ZoneInfo("UTC"), by_recipient, limit
    )


async def plant(connection: Connection) -> list[int]:
    await connection.execute(
        "TRUNCATE numbers, campaigns, ranges, range_counters, claims, recipients, outcomes, pending_attempts,"
        " suppressions, incoming_messages, audit CASCADE"
    )
    await plant_numbers(connection, **{SLOW: 80, FAST: 1000})
    planted: list[int] = []
    for index in range(len(CAPS)):
        campaign = await plant_campaign(
            connection, phones=PEOPLE[index % 2], recipients=6, range_size=2, numbers=(SLOW, FAST)
        )
        await connection.executemany(
            "UPDATE ranges SET time_zones = $2 WHERE range_id = $1",
            list(zip(campaign.range_ids, ZONES, strict=True)),
        )
        planted.append(campaign.campaign_id)
    return planted


@asynccontextmanager
async def sending(pool: Pool, world: World, together: bool) -> AsyncIterator[None]:
    """Two numbers of one process, which may claim in one statement, or of two."""
    first = context_of(pool)
    contexts = [first, first if together else context_of(pool)]
    for context in contexts:
        for campaign_id, cap in zip(world.campaigns, CAPS, strict=True):
            context.campaign_cache.start(guarded(campaign_id, cap, world))
    for phone_number_id, context in zip((SLOW, FAST), contexts, strict=True):
        lease = await take_lease(world.connection, phone_number_id, another_process())
        fed = Feeder(pool, lease, context.campaign_cache)
        pairs = PairGuard(burst=1_000)
        common = (context, lease, fed, pairs, NumberQuota(context, phone_number_id))
        parts = (FirstAttempts(*common), Retries(*common))
        parts[1]._period_ns = parts[1]._period_ns_min = parts[1]._period_ns_max = 0
        world.numbers.append(Number(lease, fed, *parts))
    batches = [
        asyncio.create_task(context.claim_batcher.run()) for context in contexts[: 1 if together else 2]
    ]
    try:
        yield
    finally:
        for task in batches:
            task.cancel()
        await asyncio.gather(*batches, return_exceptions=True)


@settings(
    max_examples=examples(24),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(taken=st.lists(steps, min_size=3, max_size=25), together=st.booleans())
async def test_nobody_gets_what_a_guard_forbids_and_everybody_else_gets_it(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, taken: Sequence[tuple[Any, ...]], together: bool
) -> None:
    async with pool.acquire() as connection:
        world = World(connection, await plant(connection))
        monkeypatch.setattr(feeder, "put_off", world.put_off)
        monkeypatch.setattr(claim_batcher, "PERIOD_NS", 0)
        monkeypatch.setattr(campaign_cache, "NONE_FREE_NS", 0)
        async with sending(pool, world, together):
            for name, *arguments in taken:
                await getattr(world, name)(*arguments)
            await world.finish()
        left = await connection.fetch(
            "SELECT state, phone, reason FROM recipient_states WHERE state IN ('pending', 'deferred')"
        )
        assert not left
