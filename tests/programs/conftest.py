"""The fixtures that applications have, with the Postgres of this run."""

from collections.abc import Iterator

import pytest

from drumbeat.testing import (
    _drumbeat_background,
    _drumbeat_database,
    drumbeat_clock,
    drumbeat_emulator,
    drumbeat_home,
    drumbeat_receiver,
)
from drumbeat.testing.databases import Databases

__all__ = [
    "_drumbeat_background",
    "_drumbeat_database",
    "drumbeat_clock",
    "drumbeat_emulator",
    "drumbeat_home",
    "drumbeat_receiver",
]

collect_ignore = ["application"]  # test_application.py runs it as the application does


@pytest.fixture(scope="session")
def _drumbeat_databases(migrated_databases: Databases) -> Iterator[Databases]:
    yield migrated_databases
