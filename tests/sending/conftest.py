"""Fixtures: housekeeping that runs more often than in production, short waits, a second connection."""

from collections.abc import AsyncIterator

import pytest

from engine import backoff
from engine.clock import SECOND_NS
from engine.core.retry import Wait
from engine.sending import claim_loop, number_ranges, retries, worker
from engine.store.database import Connection, connect


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ranges are released, campaigns finished and the actions of people read some ten times as often."""
    monkeypatch.setattr(worker, "CONTROL_PERIOD_S", 0.05)
    monkeypatch.setattr(number_ranges, "RELEASE_PERIOD_NS", SECOND_NS // 20)
    for module in (claim_loop, retries):
        monkeypatch.setattr(module, "RETRY_PERIOD_NS", SECOND_NS // 40)
    monkeypatch.setattr(retries, "RETRY_PERIOD_NS_MAX", SECOND_NS // 10)
    monkeypatch.setattr(claim_loop, "IDLE_S", 0.05)


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
