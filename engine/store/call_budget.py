"""The budget of management calls, shared by all processes of a database."""

from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.queries import queries


class SharedCallBudget:
    """A token bucket in the database, for `engine.api.call_budget.CallBudget`.

    `account` is the business account. `burst` calls may be made at once; another is free `call_every_s`
    later.
    """

    def __init__(self, pool: Pool, account: str, *, burst: int, call_every_s: float) -> None:
        self._pool = pool
        self._account = account
        self._burst = burst
        self._call_every_s = call_every_s

    async def spend(self) -> float:
        """Spend one call and return 0, or spend nothing and return the seconds until a call is free."""
        sql = queries("management_calls")
        async with self._pool.acquire() as connection, connection.transaction():
            level: float = await connection.fetchval(sql["level"], self._account, self._call_every_s)
            excess = level + 1 - self._burst
            if excess > 0:
                return excess * self._call_every_s
            await connection.execute(sql["spend"], self._account)
            return 0.0
