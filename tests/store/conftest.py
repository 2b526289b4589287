"""What tests of claims begin with."""

from collections.abc import AsyncIterator

import pytest

from drumbeat.engine.store.claims import advance_watermark
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.leases import take_lease
from drumbeat.engine.store.ranges import take_range
from tests.sending.planted import (
    FAST,
    SLOW,
    another_process,
    plant_campaign,
    plant_numbers,
)
from tests.store.recorded import Sending


@pytest.fixture
async def two_numbers(connection: Connection) -> None:
    """The database knows a slow number and a fast one."""
    await plant_numbers(connection, **{SLOW: 80, FAST: 1000})


@pytest.fixture
async def sending(pool: Pool) -> AsyncIterator[Sending]:
    async with pool.acquire() as connection:
        await plant_numbers(connection, **{SLOW: 80})
        planted = await plant_campaign(connection)
        lease = await take_lease(connection, SLOW, another_process())
        held = await take_range(connection, lease, planted.campaign_id)
        assert held is not None
        await advance_watermark(connection, lease, held, 8, [])
        yield Sending(connection, lease, held)
