"""Fixtures: short waits, a second connection."""

from collections.abc import AsyncIterator

import pytest

from drumbeat.engine import backoff
from drumbeat.engine.core.retry import Wait
from drumbeat.engine.store.database import Connection, Pool, connect
from tests.sending.workers import Workers


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Wait, int]]:
    """The waits that were asked for, in order; each is shortened."""
    asked: list[tuple[Wait, int]] = []
    real = backoff.wait_s

    def short(kind: Wait, attempt: int, hint_s: float | None = None) -> float:
        asked.append((kind, attempt))
        return min(0.05, real(kind, attempt, hint_s))

    monkeypatch.setattr(backoff, "wait_s", short)
    return asked


@pytest.fixture
async def elsewhere(database_url: str) -> AsyncIterator[Connection]:
    """A connection of another process."""
    connection = await connect(database_url)
    yield connection
    await connection.close()


@pytest.fixture
async def workers(pool: Pool, elsewhere: Connection, monkeypatch: pytest.MonkeyPatch) -> Workers:
    return Workers(pool, elsewhere, monkeypatch)
