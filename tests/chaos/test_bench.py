"""The fault bench in two forms: campaigns through one installation of real processes, with faults of each kind.

The short form kills an owner, loses answers of the database, forges events, sends again by policy and fills
the disk. `tests/sending`, `tests/store` and `tests/model` show each of the other promises in one process.
"""

import pytest

from drumbeat.engine.core.lease import CLAIM_VALID_S, PACE_WINDOW_S
from drumbeat.engine.store.leases import LEASE_S
from tests.chaos import schedule
from tests.chaos.bench import Bench, standing
from tests.chaos.disk import why_no_disk
from tests.chaos.leftovers import left_behind
from tests.chaos.schedule import Plan, Planned, Strike

pytestmark = pytest.mark.xdist_group("chaos")

RECIPIENTS = 1_200
SENDING_S = 1.0
RATE_PER_S = 1_000
TAKEOVER_S = LEASE_S + CLAIM_VALID_S + PACE_WINDOW_S
SHORT_PLANS = (
    Plan(
        0,
        (
            Planned(0.2, Strike.HOLD_RECEIVER_DOWN, 1.0),
            Planned(0.3, Strike.KILL_OWNER),
            Planned(1.5, Strike.FORGE_EVENTS),
        ),
        (*schedule.EVENT_WEATHER, *schedule.LATE_WEATHER, *schedule.MISSING_WEATHER),
    ),
    Plan(0, (Planned(0.4, Strike.LOSE_ANSWERS, 0.2), Planned(0.8, Strike.END_CONNECTIONS, 0.5))),
)
PLANS = (
    *SHORT_PLANS,
    Plan(
        0,
        (
            Planned(0.1, Strike.EARLY_EVENTS, 1.0, share=0.2),
            Planned(0.2, Strike.SLOW_BYTES, 1.0, share=0.2),
            Planned(0.3, Strike.STORM_THROTTLES, 0.5, share=0.1),
            Planned(0.7, Strike.KILL_OWNER),
        ),
    ),
    Plan(0, (Planned(0.2, Strike.PAUSE_TEMPLATE), Planned(0.6, Strike.EXPIRE_TOKEN))),
    Plan(0, (Planned(0.5, Strike.STOP_DATABASE, 0.5),), schedule.SERVICE_WEATHER),
    Plan(0, (Planned(0.5, Strike.HALF_OPEN_OWNER, TAKEOVER_S),)),
    schedule.freezes(1, SENDING_S, LEASE_S),
)
# A resumed number starts at its lowest rate, so few recipients are left for it.
STOPPED, STOPPED_RECIPIENTS = Plan(0, (Planned(0.35, Strike.STOP_NUMBER),)), 480
# Long enough that events keep arriving after a kill until an attempt counts as probably not sent.
POLICY_RECIPIENTS = 4_500


async def run_all(bench: Bench, plans: tuple[Plan, ...], recipients: int = RECIPIENTS) -> list[str]:
    found = []
    for plan in plans:
        report = await bench.run(plan, recipients)
        found += [f"{plan.words}: {line}\n{report.trace}" for line in report.broken]
    return found


@pytest.mark.long
async def test_a_killed_owner_and_lost_answers_lose_nothing_and_double_nothing() -> None:
    async with standing(RATE_PER_S) as bench:
        assert await run_all(bench, SHORT_PLANS) == []
        plan = schedule.policy(1, POLICY_RECIPIENTS / RATE_PER_S, "resend-silent")
        report = await bench.run_policy(plan, POLICY_RECIPIENTS, "resend-silent")
        assert not report.broken, (report.broken, report.trace)
        assert await bench.stop() == []
    assert left_behind(bench.home) == []


@pytest.mark.slow
async def test_nothing_is_lost_and_nothing_twice() -> None:
    async with standing(RATE_PER_S) as bench:
        assert await run_all(bench, PLANS) == []
        assert await run_all(bench, (STOPPED,), STOPPED_RECIPIENTS) == []
        for on_unknown in ("hold", "resend-silent", "resend"):
            plan = schedule.policy(1, POLICY_RECIPIENTS / RATE_PER_S, on_unknown)
            report = await bench.run_policy(plan, POLICY_RECIPIENTS, on_unknown)
            assert not report.broken, (on_unknown, report.broken, report.trace)
        assert await bench.stop() == []
    assert left_behind(bench.home) == []


@pytest.mark.long
@pytest.mark.skipif(bool(why_no_disk()), reason=f"no full disk: {why_no_disk()}")
async def test_a_full_disk_stops_the_sending_and_loses_nothing() -> None:
    async with standing(RATE_PER_S, small_disk=True) as bench:
        full = Plan(0, (Planned(0.3, Strike.FILL_DISK_AND_KILL, 1.0),))
        assert await run_all(bench, (full,)) == []
        assert await bench.stop() == []
    assert left_behind(bench.home) == []
