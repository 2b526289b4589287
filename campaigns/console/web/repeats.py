"""The repeated requests: each request is worked on once, and a repeat gets the same reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from drumbeat.campaigns.console.web.problems import Refused, problem_of
from drumbeat.campaigns.sql import statements
from drumbeat.engine.store.database import Pool

CREATED = 201


@dataclass(frozen=True, slots=True)
class Repeats:
    """The requests of one caller with one key."""

    pool: Pool
    requester: str
    key: str

    async def once(self, asked: bytes, work: Callable[[], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        """Return the reply of `work`, or the stored one. `asked`: a hash of the request.

        Refused if another request has the key, or if the first one has no reply yet: it is being worked on,
        or its process was killed, and nobody knows how far it came.
        """
        sql = statements("console_people")
        if await self.pool.fetchval(sql["begin_request"], self.requester, self.key, asked) is None:
            return await self._stored(asked)
        try:
            done = await work()
        except Exception as error:
            if problem_of(error).code == "unexpected":
                raise  # nobody knows how far it came
            await self.pool.execute(sql["forget_request"], self.requester, self.key)
            raise
        await self.pool.execute(sql["end_request"], self.requester, self.key, CREATED, done)
        return done

    async def _stored(self, asked: bytes) -> dict[str, Any]:
        row = await self.pool.fetchrow(
            statements("console_people")["known_request"], self.requester, self.key
        )
        if row is None or (row["request_hash"] == asked and row["status"] is None):
            raise Refused(409, "key_in_use")
        if row["request_hash"] != asked:
            raise Refused(422, "key_reused")
        reply: dict[str, Any] = row["reply"]
        return reply
