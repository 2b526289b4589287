"""The short form of the fault bench: some seeds of each kind through one installation of real processes."""

import pytest

from engine.store.leases import LEASE_S
from tests.chaos import schedule
from tests.chaos.bench import Bench, standing
from tests.chaos.schedule import Plan, Planned, Strike

pytestmark = pytest.mark.xdist_group("chaos")

RECIPIENTS = 1_200
SENDING_S = 1.0
RATE_PER_S = 1_000
PLANS = (
    schedule.owner_kills(1, SENDING_S),
    Plan(0, (Planned(0.3, Strike.KILL_RECEIVER), Planned(0.6, Strike.FORGE_EVENTS)), schedule.EVENT_WEATHER),
    Plan(0, (Planned(0.4, Strike.LOSE_ANSWERS, 0.2), Planned(0.8, Strike.END_CONNECTIONS, 0.5))),
    Plan(0, (Planned(0.5, Strike.STOP_DATABASE, 0.5),), schedule.SERVICE_WEATHER),
    schedule.freezes(1, SENDING_S, LEASE_S),
)


async def run_all(bench: Bench) -> list[str]:
    found = []
    for plan in PLANS:
        report = await bench.run(plan, RECIPIENTS)
        found += [f"{plan.words}: {line}\n{report.trace}" for line in report.broken]
    return found


async def test_nothing_is_lost_and_nothing_twice() -> None:
    async with standing(RATE_PER_S) as bench:
        assert await run_all(bench) == []
        assert await bench.stop() == []
