"""A receiver on a real socket and a real database."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

import pytest
from pydantic import SecretStr

from drumbeat.engine.store.database import Pool
from drumbeat.engine.webhooks.intake import Intake
from drumbeat.engine.webhooks.metrics import Metrics
from drumbeat.engine.webhooks.receiver import CALLBACK_PATH, Receiver, Secrets, listening
from drumbeat.engine.webhooks.server import probes_of
from drumbeat.http_server.limits import Limits
from tests.webhooks.conversation import PRODUCT, SECRET, TOKEN


@dataclass
class Running:
    url: str
    pool: Pool
    intake: Intake
    metrics: Metrics
    receiver: Receiver


@asynccontextmanager
async def running(
    pool: Pool, limits: Limits | None = None, path: str = CALLBACK_PATH, **intake_options: float
) -> AsyncIterator[Running]:
    """A receiver on any free port, without a reconciler."""
    metrics = Metrics()
    intake = Intake(pool, metrics, PRODUCT, **intake_options)  # type: ignore[arg-type]
    secrets = Secrets(SecretStr(SECRET.decode()), SecretStr(TOKEN))
    receiver = Receiver(intake, metrics, probes_of(pool, intake, metrics), secrets, limits, path)
    async with listening(receiver, intake, "127.0.0.1", 0, pool=pool) as url:
        yield Running(url, pool, intake, metrics, receiver)


@pytest.fixture
async def receiver(pool: Pool) -> AsyncIterator[Running]:
    async with running(pool) as started:
        yield started
