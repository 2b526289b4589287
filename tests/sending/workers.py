"""Workers of several hosts, in one loop."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any

import pytest

from drumbeat.emulator.testing import Emulator
from drumbeat.engine.process.identity import ProcessIdentity, this_process
from drumbeat.engine.sending import owned_numbers
from drumbeat.engine.store.database import Connection, Pool
from tests.sending.running import Runner, started, until


class Workers:
    """Workers of several hosts in one loop: each has an identity of its own."""

    def __init__(self, pool: Pool, connection: Connection, monkeypatch: pytest.MonkeyPatch) -> None:
        self._pool = pool
        self._connection = connection
        self._monkeypatch = monkeypatch

    @asynccontextmanager
    async def on(
        self, host: str, emulator: Emulator, numbers: Sequence[str], **settings: Any
    ) -> AsyncIterator[Runner]:
        identity = replace(this_process(), host=host, boot=host)
        self._monkeypatch.setattr(owned_numbers, "this_process", lambda: identity)
        async with started(self._pool, emulator, numbers=numbers, **settings) as runner:
            await until(lambda: self._is_known(identity))
            yield runner

    async def _is_known(self, identity: ProcessIdentity) -> bool:
        row = "SELECT true FROM sending_processes WHERE process = $1"
        return bool(await self._connection.fetchval(row, identity.stored()))

    async def shares(self) -> dict[str, int]:
        """How many numbers each host owns."""
        rows = await self._connection.fetch(
            "SELECT owner_process ->> 'host' AS host, count(*) AS many FROM numbers"
            " WHERE NOT released AND leased_until > now() GROUP BY 1"
        )
        return {row["host"]: row["many"] for row in rows}

    async def until_shared(self, **shares: int) -> None:
        async def are_shared() -> bool:
            return await self.shares() == shares

        await until(are_shared)

    async def epochs(self) -> dict[str, int]:
        return {row["phone_number_id"]: row["epoch"] for row in await self._connection.fetch("TABLE numbers")}
