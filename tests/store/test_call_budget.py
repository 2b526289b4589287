"""The budget of management calls is one for all processes of a database."""

import asyncio

from drumbeat.engine.store.call_budget import SharedCallBudget
from drumbeat.engine.store.database import Pool

ACCOUNT = "102290129340398"


def budget(pool: Pool, account: str = ACCOUNT) -> SharedCallBudget:
    return SharedCallBudget(pool, account, burst=3, call_every_s=3600.0)


async def test_calls_of_several_clients_count_together(pool: Pool) -> None:
    waits = await asyncio.gather(*(budget(pool).spend() for _ in range(6)))
    assert sorted(wait == 0 for wait in waits) == [False] * 3 + [True] * 3
    assert all(3500 < wait <= 3600 for wait in waits if wait)


async def test_each_account_has_its_own(pool: Pool) -> None:
    for _ in range(3):
        assert await budget(pool).spend() == 0
    assert await budget(pool).spend() > 0
    assert await budget(pool, "77").spend() == 0


async def test_a_call_becomes_free_again(pool: Pool) -> None:
    for _ in range(3):
        await budget(pool).spend()
    earlier = "UPDATE management_calls SET measured_at = measured_at - interval '30 minutes'"
    await pool.execute(earlier)
    assert 1700 < await budget(pool).spend() <= 1800
    await pool.execute(earlier)
    assert await budget(pool).spend() == 0
    assert await budget(pool).spend() > 0


async def test_a_clock_that_was_set_back_neither_frees_nor_costs_calls(pool: Pool) -> None:
    for _ in range(3):
        await budget(pool).spend()
    await pool.execute("UPDATE management_calls SET measured_at = measured_at + interval '1 day'")
    assert 3500 < await budget(pool).spend() <= 3600
