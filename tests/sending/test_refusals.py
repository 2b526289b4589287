"""Refusals by the service: throttles, pair rate, transient failures, recipients, templates, numbers, tokens."""

from dataclasses import replace
from typing import Any

import pytest
from pydantic import SecretStr

from drumbeat.emulator.identity import Token
from drumbeat.emulator.testing import Emulator
from drumbeat.engine import app, backoff
from drumbeat.engine.clock import suspend_aware_ns
from drumbeat.engine.core.pace import circuit_breaker
from drumbeat.engine.core.retry import TRANSIENT_ATTEMPTS_MAX, Wait
from drumbeat.engine.sending import first_attempts as first_attempts
from drumbeat.engine.sending import retries
from drumbeat.engine.sending.claim_loop import ClaimLoop
from drumbeat.engine.sending.messages import GrantedClaims
from drumbeat.engine.store.database import Pool
from tests.api import loopback
from tests.api.transports import answering
from tests.kit.rows import suppress
from tests.sending.planted import FAST, SLOW, Planted, campaign_row, plant_campaign, plant_numbers, recount
from tests.sending.running import (
    HIGH_RATE_PER_S,
    QUICK,
    accepted_by_number,
    accepted_phones,
    assert_counts,
    assert_each_once,
    fault,
    run_to_end,
    serving,
    started,
    until,
)


async def planted(
    pool: Pool, recipients: int = 60, rate_per_s: float = HIGH_RATE_PER_S, **others: object
) -> Planted:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: rate_per_s})
        return await plant_campaign(connection, recipients=recipients, **others)  # type: ignore[arg-type]


async def attempts_of(pool: Pool) -> list[int]:
    """The last attempt number of each settled recipient, in order of seq."""
    async with pool.acquire() as connection:
        rows = await connection.fetch(
            "SELECT max(attempt_no) AS attempt_no FROM outcomes GROUP BY range_id, seq ORDER BY range_id, seq"
        )
    return [row["attempt_no"] for row in rows]


async def outcome_codes(pool: Pool) -> set[tuple[int | None, str | None]]:
    async with pool.acquire() as connection:
        rows = await connection.fetch("SELECT DISTINCT code, reason FROM outcomes WHERE kind = 2")
    return {(row["code"], row["reason"]) for row in rows}


# ---- the pace


async def test_an_isolated_throttle_requeues_and_costs_no_failure(
    pool: Pool, waits: list[tuple[Wait, int]]
) -> None:
    campaign = await planted(pool, 300)
    async with serving(fault("throttle-storm", count=1, from_s=0.05)) as emulator:
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert emulator.service.errors == {130429: 1}
        assert_each_once(emulator, campaign)
    assert waits == [(Wait.NUMBER, 1)]
    assert sorted(await attempts_of(pool))[-2:] == [1, 2]
    async with pool.acquire() as connection:
        throttled = await connection.fetchrow("SELECT attempts, accepted, throttled FROM campaign_numbers")
        assert throttled is not None and tuple(throttled) == (301, 300, 1)


async def test_a_service_that_takes_less_than_believed_gets_everybody_once_all_the_same(
    pool: Pool, waits: list[tuple[Wait, int]]
) -> None:
    """The limit in the database is three times that of the service: throttles lower the rate."""
    campaign = await planted(pool, 400, rate_per_s=300)
    async with serving(**{SLOW: 100}) as emulator:
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)
        throttled = emulator.service.errors[130429]
    assert 0 < throttled < 350, "not one throttle for each acceptance"
    await assert_counts(pool, campaign, accepted=400)


async def test_a_pair_that_is_written_to_too_often_waits_powers_of_four_and_then_fails(
    pool: Pool, waits: list[tuple[Wait, int]]
) -> None:
    campaign = await planted(pool, 1)
    async with serving(fault("refusal", code=131056, count=6)) as emulator:
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert len(emulator.service.ledger) == 0
    assert waits == [(Wait.PAIR, attempt) for attempt in (1, 2, 3, 4, 5)]
    assert await outcome_codes(pool) == {(131056, "131056")}
    assert await attempts_of(pool) == [6], "the sixth fails it"


def test_the_waits_of_a_pair_are_those_of_the_protocol() -> None:
    assert [backoff.wait_s(Wait.PAIR, attempt) for attempt in (1, 2, 3, 4, 5)] == [1, 4, 16, 64, 256]


async def test_other_recipients_are_sent_while_one_pair_waits(
    pool: Pool, waits: list[tuple[Wait, int]]
) -> None:
    campaign = await planted(pool, 80)
    async with serving(fault("refusal", code=131056, count=2)) as emulator:
        await run_to_end(pool, emulator, campaign)
        assert_each_once(emulator, campaign)
    assert sorted(await attempts_of(pool))[-3:] in ([1, 2, 2], [1, 1, 3])


async def test_a_claim_ages_from_before_its_statement(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A first attempt, claimed alone because the guard defers another recipient; then that recipient's retry."""
    claimed_ns: list[int] = []
    asked_ns: list[int] = []

    def noting(real: Any) -> Any:
        async def statement(*arguments: Any) -> Any:
            asked_ns.append(suspend_aware_ns())
            return await real(*arguments)

        return statement

    def send(self: ClaimLoop, granted: GrantedClaims) -> None:
        claimed_ns.extend([granted.claimed_ns] * len(granted.candidates))
        real_send(self, granted)

    real_send = ClaimLoop._send
    monkeypatch.setattr(ClaimLoop, "_send", send)
    for module, name in ((first_attempts, "advance_watermark"), (retries, "claim_retries")):
        monkeypatch.setattr(module, name, noting(getattr(module, name)))
    campaign = await planted(pool, 2, phones=[5511999990001, 5511999990001])
    async with serving() as emulator:
        await run_to_end(pool, emulator, campaign, pair_rate_per_s=10.0, pair_burst=1)
        assert len(emulator.service.ledger) == 2
    assert all(claimed <= asked for claimed, asked in zip(claimed_ns, asked_ns, strict=True))


async def test_the_guard_keeps_the_pairs_own_pace_before_the_service_must(pool: Pool) -> None:
    """Two rows of one recipient, and a service that allows one message in some tenths of a second."""
    campaign = await planted(pool, 2, phones=[5511999990001, 5511999990001])
    async with serving() as emulator:
        ended = await run_to_end(pool, emulator, campaign, pair_rate_per_s=1.0, pair_burst=1)
        assert ended.state == "finished"
        times = [row["received_at_ns"] for row in emulator.service.ledger.rows(0, 9)]
    assert times[1] - times[0] >= 500_000_000, "a second from claim to claim"
    assert await attempts_of(pool) == [1, 1], "held back before any request"


# ---- transient failures, and attempts in doubt


async def test_a_failure_that_passes_is_tried_again_a_bounded_number_of_times(
    pool: Pool, waits: list[tuple[Wait, int]]
) -> None:
    campaign = await planted(pool, 2)
    async with serving(fault("refusal", code=131016)) as emulator:
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert emulator.service.errors[131016] == 2 * TRANSIENT_ATTEMPTS_MAX
    assert await outcome_codes(pool) == {(131016, "131016")}
    assert sorted(waits) == sorted([(Wait.TRANSIENT, n) for n in range(1, TRANSIENT_ATTEMPTS_MAX)] * 2)
    await assert_counts(pool, campaign, failed=2)


async def test_a_failure_that_passed_ends_in_acceptance(pool: Pool, waits: list[tuple[Wait, int]]) -> None:
    campaign = await planted(pool, 50)
    async with serving(fault("refusal", code=131000, count=20)) as emulator:
        await run_to_end(pool, emulator, campaign)
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=50)


@pytest.mark.parametrize(("recipients", "requests"), [(300, 100), (40, 190)], ids=["many", "each often"])
async def test_a_downtime_that_the_service_names_fails_nobody(
    pool: Pool, recipients: int, requests: int, monkeypatch: pytest.MonkeyPatch, waits: list[tuple[Wait, int]]
) -> None:
    """The service answers and refuses everybody: few recipients are tried, and none runs out of attempts."""
    monkeypatch.setattr(app, "wait_s", lambda kind, opening: 0.0)
    monkeypatch.setattr(circuit_breaker, "OPEN_S_MIN", 0.01)
    timing = replace(QUICK, poll_s=0.01)
    campaign = await planted(pool, recipients, rate_per_s=80)
    async with serving(fault("refusal", code=131016, count=requests)) as emulator:
        assert (await run_to_end(pool, emulator, campaign, timing=timing)).state == "finished"
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=recipients)


async def test_who_was_never_tried_finds_out_first_whether_a_downtime_is_over(
    pool: Pool, monkeypatch: pytest.MonkeyPatch, waits: list[tuple[Wait, int]]
) -> None:
    """The waiting recipients may be those that the service always fails: they must not block the others."""
    monkeypatch.setattr(circuit_breaker, "FAILURES_IN_A_ROW", 4)
    monkeypatch.setattr(app, "wait_s", lambda kind, opening: 0.0)
    await planted(pool, 4)
    async with serving(fault("refusal", code=131016, count=60)) as emulator, started(pool, emulator):
        await until(lambda: emulator.service.errors[131016] >= 8)
        async with pool.acquire() as connection:
            other = await plant_campaign(connection, recipients=1)

        async def other_was_tried() -> bool:
            return bool(
                await pool.fetchval(
                    "SELECT attempt_no FROM pending_attempts WHERE range_id = $1", other.range_ids[0]
                )
            )

        await until(other_was_tried)
        assert emulator.service.errors[131016] < 60


@pytest.mark.parametrize(
    "way",
    [
        fault("lost-reply", 0.05, count=3),
        fault("reset-after-accepting", 0.05, count=3),
        fault("server-error", 0.05, count=3, accepted=True),
    ],
    ids=lambda way: way.kind,
)
async def test_a_lost_reply_is_in_doubt_and_nobody_gets_the_message_twice(pool: Pool, way: object) -> None:
    campaign = await planted(pool, 200, rate_per_s=400)
    async with serving(way) as emulator:  # type: ignore[arg-type]
        ended = await run_to_end(pool, emulator, campaign)
        assert (ended.state, ended.reason) == ("finished", "3 in doubt: see `campaign settle`")
        assert_each_once(emulator, campaign)
    await assert_counts(pool, campaign, accepted=197, unknown=3)
    async with pool.acquire() as connection:
        reasons = await connection.fetch("SELECT reason FROM recipient_states WHERE state = 'unknown'")
        assert all(row["reason"] for row in reasons), "each attempt in doubt has a reason"


async def test_a_break_before_acceptance_is_in_doubt_since_bytes_were_written(pool: Pool) -> None:
    campaign = await planted(pool, 100, rate_per_s=400)
    async with serving(fault("reset-before-accepting", 0.1, count=2)) as emulator:
        await run_to_end(pool, emulator, campaign)
        assert max(accepted_phones(emulator).values()) == 1
    await assert_counts(pool, campaign, accepted=98, unknown=2)


# ---- recipients


async def test_a_refused_recipient_fails_with_its_code_and_the_others_are_sent(
    pool: Pool,
) -> None:
    campaign = await planted(pool, 40)
    async with serving() as emulator:
        for phone in campaign.phones[5:8]:
            emulator.service.people.know(phone).on_network = False
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert accepted_phones(emulator).keys() == set(campaign.phones) - set(campaign.phones[5:8])
    assert await outcome_codes(pool) == {(131026, "131026")}
    await assert_counts(pool, campaign, accepted=37, failed=3)


async def test_a_recipient_who_opted_out_fails_and_is_skipped_by_the_next_campaign(pool: Pool) -> None:
    campaign = await planted(pool, 20)
    async with serving(fault("refusal", code=131050, count=1)) as emulator:
        await run_to_end(pool, emulator, campaign)
        await assert_counts(pool, campaign, accepted=19, failed=1)
        async with pool.acquire() as connection:
            opted_out = await connection.fetchval("SELECT phone FROM suppressions")
            following = await plant_campaign(connection, recipients=20, phones=campaign.phones)
        await run_to_end(pool, emulator, following)
        assert accepted_phones(emulator)[opted_out] == 0
    await assert_counts(pool, following, accepted=19, skipped=1)


async def test_an_opt_out_after_the_plan_is_skipped(pool: Pool) -> None:
    campaign = await planted(pool, 20)
    async with pool.acquire() as connection:
        await suppress(connection, campaign.phones[4], reason="STOP")
    async with serving() as emulator:
        await run_to_end(pool, emulator, campaign)
        assert accepted_phones(emulator)[campaign.phones[4]] == 0
    await assert_counts(pool, campaign, accepted=19, skipped=1)
    async with pool.acquire() as connection:
        assert await connection.fetchval("SELECT reason FROM outcomes WHERE kind = 3") == "opted out"


# ---- campaign, number, account


def approve(emulator: Emulator, status: str) -> None:
    for account in emulator.service.accounts.values():
        template = account.book.get("order_shipped", "en_US")
        assert template is not None
        template.status = status


async def test_a_paused_template_pauses_the_campaign_and_a_resume_reaches_everybody_once(pool: Pool) -> None:
    campaign = await planted(pool, 300, rate_per_s=300)
    async with serving() as emulator:
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(emulator.service.ledger) >= 60)
            approve(emulator, "PAUSED")
            ended = await runner.end()
        assert ended.state == "paused" and "132015" in ended.reason
        assert emulator.service.errors[132015] < 100, "not everybody is tried against a wall"
        await assert_counts(pool, campaign, **await settled(pool, campaign))
        approve(emulator, "APPROVED")
        await resume(pool, campaign)
        assert (await run_to_end(pool, emulator, campaign)).state == "finished"
        assert_each_once(emulator, campaign)


async def test_a_revoked_token_pauses_with_its_reason_and_a_resume_reaches_everybody_once(pool: Pool) -> None:
    campaign = await planted(pool, 300, rate_per_s=300)
    async with serving() as emulator:
        token = emulator.service.config.token
        async with started(pool, emulator, campaign) as runner:
            await until(lambda: len(emulator.service.ledger) >= 60)
            emulator.service.tokens.revoke(token)
            ended = await runner.end()
        assert ended.state == "paused" and "190" in ended.reason
        counted = await settled(pool, campaign)
        assert set(counted) <= {"accepted", "deferred", "pending"}, "nobody failed, nobody is in doubt"
        emulator.service.tokens.add(Token("new-token", app_id=emulator.service.config.app_id))
        await resume(pool, campaign)
        again = await run_to_end(pool, emulator, campaign, access_token=SecretStr("new-token"))
        assert again.state == "finished"
        assert_each_once(emulator, campaign)


async def test_refusals_in_a_row_of_what_every_recipient_shares_pause_the_campaign(pool: Pool) -> None:
    campaign = await planted(pool, 300, rate_per_s=200)
    async with serving(fault("refusal", code=132012)) as emulator:
        ended = await run_to_end(pool, emulator, campaign)
        assert ended.state == "paused" and "in a row" in ended.reason and "132012" in ended.reason
        assert emulator.service.errors[132012] < 100


async def test_a_wrong_path_or_a_firewall_pauses_the_campaign_before_everybody_has_failed(pool: Pool) -> None:
    """Something else than the service answers: a 4xx without a code, for every recipient."""
    campaign = await planted(pool, 300, rate_per_s=200)
    async with serving() as emulator, loopback.serving(answering(404, b"<html>nothing here</html>")) as wrong:
        ended = await run_to_end(pool, emulator, campaign, base_url=wrong.base_url)
        assert ended.state == "paused" and "in a row" in ended.reason and "http_404" in ended.reason
    async with pool.acquire() as connection:
        assert (await recount(connection, campaign.campaign_id))["failed"] < 150


async def test_the_work_of_a_number_that_is_stopped_moves_to_the_other(pool: Pool) -> None:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 300, FAST: 300})
        campaign = await plant_campaign(connection, recipients=400, range_size=100, numbers=(SLOW, FAST))
    async with (
        serving(**{SLOW: 300, FAST: 300}) as emulator,
        started(pool, emulator, campaign, (SLOW, FAST)) as runner,
    ):
        await until(lambda: accepted_by_number(emulator)[SLOW] >= 20)
        emulator.service.numbers[SLOW].status = "BANNED"
        assert (await runner.end()).state == "finished"
        assert_each_once(emulator, campaign)
        assert accepted_by_number(emulator)[FAST] > 200
        async with pool.acquire() as connection:
            rests = await connection.fetchval(
                "SELECT suspended_reason FROM numbers WHERE stopped AND suspended_until IS NULL"
            )
        assert "133010" in rests


async def settled(pool: Pool, campaign: Planted) -> dict[str, int]:
    async with pool.acquire() as connection:
        return dict(await recount(connection, campaign.campaign_id))


async def resume(pool: Pool, campaign: Planted) -> None:
    async with pool.acquire() as connection:
        assert (await campaign_row(connection, campaign.campaign_id))[0] == "paused"
        await connection.execute("UPDATE campaigns SET state = 'running', reason = ''")
