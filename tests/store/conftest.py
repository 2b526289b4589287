"""What tests of claims begin with."""

import pytest

from engine.store.database import Connection
from tests.sending.planted import FAST, SLOW, plant_numbers


@pytest.fixture
async def two_numbers(connection: Connection) -> None:
    """The database knows a slow number and a fast one."""
    await plant_numbers(connection, **{SLOW: 80, FAST: 1000})
