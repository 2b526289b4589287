"""The messaging limits as one process knows them: read a few times a second, and counted by the claims.

Law: for numbers without a limit nothing is counted, and their claims cost nothing. `NumberQuota` has what
concerns one number, and the campaigns that wait for it.
"""

from collections.abc import Iterable, Sequence

from drumbeat.engine.core.limits.quota import QuotaScope, QuotaStanding
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.quota import (
    Admission,
    CountedPerson,
    Decide,
    Quota,
    admit,
    forget_others,
    give_back,
    read_quotas,
    read_standings,
)


class Quotas:
    """The quotas of one process. `by_number` has the numbers with a limit, those of other processes too."""

    def __init__(self, scope: QuotaScope = QuotaScope.NUMBER) -> None:
        self._scope = scope
        self.by_number: dict[str, Quota] = {}
        self._standings: dict[str, QuotaStanding] = {}  # by scope
        self._unsent: dict[str, list[CountedPerson]] = {}  # by scope
        self._is_read = False

    def standing(self, phone_number_id: str) -> QuotaStanding | None:
        """Return how much of a number's limit is used; None if it has no limit."""
        quota = self.by_number.get(phone_number_id)
        return None if quota is None else self._standings.get(quota.scope, QuotaStanding(quota.limit, 0))

    def used_up(self, phone_number_ids: Iterable[str]) -> list[QuotaStanding]:
        """Return the limits of these numbers, each once, if all of them are used up; else an empty list."""
        quotas = [self.by_number.get(number) for number in phone_number_ids]
        scopes = {quota.scope for quota in quotas if quota is not None}
        standings = [self._standings[scope] for scope in sorted(scopes) if scope in self._standings]
        complete = None not in quotas and len(standings) == len(scopes)
        return standings if complete and not any(standing.left for standing in standings) else []

    async def refresh(self, connection: Connection) -> None:
        """Read the limits and how much of them is used. A new tier holds from now on."""
        quotas = await read_quotas(connection, self._scope)
        if quotas != self.by_number or not self._is_read:
            await forget_others(connection, quotas)
            self._is_read = True
        if quotas:
            await self.flush(connection)
            self._standings = await read_standings(connection, quotas.values())
        self.by_number = quotas

    async def admit(
        self, connection: Connection, phone_number_id: str, people: Sequence[CountedPerson], decide: Decide
    ) -> Admission:
        """Count those of `people` to whom the number may write now. The number must have a limit."""
        quota = self.by_number[phone_number_id]
        unsent = self._unsent.pop(quota.scope, [])
        admission = await admit(connection, quota, phone_number_id, people, unsent, decide)
        if not admission.left:
            self._standings.update(await read_standings(connection, [quota]))
        return admission

    def not_accepted(self, phone_number_id: str, person: CountedPerson) -> None:
        """Note that the attempt for which a person was counted was certainly not accepted."""
        if quota := self.by_number.get(phone_number_id):
            self._unsent.setdefault(quota.scope, []).append(person)

    async def flush(self, connection: Connection) -> None:
        """Take from the count the people whose attempts were not accepted. If it fails, they stay counted."""
        quotas = {quota.scope: quota for quota in self.by_number.values()}
        while self._unsent:
            scope, unsent = self._unsent.popitem()
            if scope in quotas:
                await give_back(connection, quotas[scope], unsent)
