"""Tests of the checks: with any one protection removed, the bench must find a broken promise."""

import pytest

from drumbeat.engine.core.lease import CLAIM_VALID_S, PACE_WINDOW_S
from drumbeat.engine.store.leases import LEASE_S
from tests.chaos.bench import RUN_S_MAX, Report, standing
from tests.chaos.schedule import Plan, Planned, Strike

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("chaos")]

THAW_S = LEASE_S + CLAIM_VALID_S + PACE_WINDOW_S + 1.5  # when the successor has begun to send
SLOW_REFUSALS = (
    {"kind": "refusal", "probability": 0.3, "code": 131016},
    {"kind": "latency", "probability": 1.0, "median_ms": 600},
)
SLOW_REPLIES = (
    {"kind": "latency", "probability": 1.0, "median_ms": 300},
)  # many requests are in flight at a kill
KILL = Plan(0, (Planned(0.7, Strike.KILL_OWNER),), SLOW_REPLIES)
FREEZE = Plan(0, (Planned(0.7, Strike.FREEZE_OWNER, THAW_S),))
BLOCK = Plan(0, (Planned(0.3, Strike.BLOCK_OUTCOMES, 5.0),))
LOSE = Plan(0, tuple(Planned(0.3 + 0.4 * nth, Strike.LOSE_ANSWERS, 0.2) for nth in range(4)))

# Events would settle the attempts in doubt that are counted here, cancel a retry before it is sent, and show the
# next owner which recipients the former one reached.
WITHOUT_EVENTS = ("watermark", "stop", "retries")


async def judged(sabotage: str, plan: Plan, recipients: int, *, events: bool = True) -> Report:
    command = ("-m", "tests.chaos.sabotaged", sabotage)
    async with standing(1_000, worker_command=command) as bench:
        bench.run_s_max = RUN_S_MAX / 4
        return await bench.run(plan, recipients, events=events)


@pytest.mark.parametrize(
    ("sabotage", "plan", "recipients", "finding"),
    [
        ("watermark", KILL, 2_000, "sent twice"),
        ("epoch", FREEZE, 6_000, "messages of a former owner"),
        ("retries", Plan(0, (), SLOW_REFUSALS), 1_000, "sent twice"),
        ("permit", FREEZE, 6_000, "messages of a former owner"),
        ("stop", BLOCK, 8_000, "in doubt, above the bound"),
        ("difference", LOSE, 3_000, "the range counters differ"),
        ("idempotence", LOSE, 3_000, "complained"),
    ],
)
async def test_the_bench_notices_a_removed_protection(
    sabotage: str, plan: Plan, recipients: int, finding: str
) -> None:
    report = await judged(sabotage, plan, recipients, events=sabotage not in WITHOUT_EVENTS)
    assert any(finding in line for line in report.broken), (report.broken, report.trace)


async def test_the_policy_resend_leaves_nobody_in_doubt() -> None:
    async with standing(1_000) as bench:
        report = await bench.run(KILL, 2_000, on_unknown="resend")
        assert not report.broken, report.trace
        assert report.unknown_max > 0
        assert report.unknown_left == report.resent == 0


@pytest.mark.parametrize(("plan", "recipients"), [(FREEZE, 6_000), (BLOCK, 8_000), (LOSE, 3_000)])
async def test_with_every_protection_the_same_faults_break_nothing(plan: Plan, recipients: int) -> None:
    async with standing(1_000) as bench:
        report = await bench.run(plan, recipients, events=plan is not BLOCK)
        assert not report.broken, report.trace
        assert not await bench.stop()
