"""The messaging limit of one number: the people who are counted before a claim, and the campaigns that wait.

A campaign waits if its next recipient would be one person too many. The number then releases its ranges to
numbers that may write to more people, and continues with campaigns whose recipients are counted already.
"""

from collections.abc import Sequence

from drumbeat.engine.core.limits.quota import QuotaStanding, admitted, admitted_in_order, in_words
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.sending.flow_context import FlowContext
from drumbeat.engine.store.claims import Candidate
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.quota import Admission, CountedPerson, Decide

# Facts after which the service certainly did not accept the attempt.
NOT_ACCEPTED = (FactKind.FAILED, FactKind.DEFERRED)

log = get_logger(__name__)


class NumberQuota:
    """The quota of one number. Call `admit_first` or `admit_retries` before a claim, and `settled` for each
    outcome.
    """

    def __init__(self, context: FlowContext, phone_number_id: str) -> None:
        self._context = context
        self._quotas = context.quotas
        self._phone_number_id = phone_number_id
        self._waiting: set[int] = set()  # campaigns that wait
        # People to whom nobody wrote in the 24 hours before the attempt that is under way.
        self._new: dict[tuple[int, int], CountedPerson] = {}  # by range_id and seq

    @property
    def is_limited(self) -> bool:
        """Return whether claims must ask. If not, nothing is counted."""
        return self._phone_number_id in self._quotas.by_number

    @property
    def counts(self) -> bool:
        """Return whether `settled` has anything to do."""
        return bool(self._new)

    @property
    def standing(self) -> QuotaStanding | None:
        return self._quotas.standing(self._phone_number_id)

    @property
    def waits(self) -> bool:
        """Return whether any campaign waits."""
        return bool(self._waiting) and any(map(self.waits_for, list(self._waiting)))

    def waits_for(self, campaign_id: int) -> bool:
        """Return whether nobody may be claimed of a campaign until the limit allows more people."""
        if campaign_id not in self._waiting:
            return False
        standing = self.standing
        if standing is not None and not standing.left:
            return True
        self._waiting.clear()
        log.info("quota_available", number=self._phone_number_id)
        return False

    async def admit_first(self, candidates: Sequence[Candidate]) -> int:
        """Return how many of these first attempts may be claimed, from the first one on."""
        async with self._context.pool.acquire(timeout=5) as connection:
            admission = await self._admit(connection, candidates, admitted_in_order)
        return sum(admission.may)

    async def admit_retries(self, connection: Connection, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Return the recipients whose further attempts may be claimed."""
        admission = await self._admit(connection, candidates, admitted)
        return [candidate for candidate, may in zip(candidates, admission.may, strict=True) if may]

    def settled(self, fact: Fact) -> None:
        """Note an outcome. A person whose attempt was throttled stays counted: the number repeats it soon."""
        person = self._new.pop((fact.range_id, fact.seq), None)
        if person is not None and fact.kind in NOT_ACCEPTED and not fact.throttled:
            self._quotas.not_accepted(self._phone_number_id, person)

    def not_claimed(self, facts: Sequence[Fact]) -> None:
        """Note recipients who opted out meanwhile. They stay counted: another process may
        claim the attempt.
        """
        for fact in facts:
            self._new.pop((fact.range_id, fact.seq), None)

    async def _admit(
        self, connection: Connection, candidates: Sequence[Candidate], decide: Decide
    ) -> Admission:
        people = [
            CountedPerson(candidate.phone, candidate.range_id, candidate.seq, candidate.attempt_no + 1)
            for candidate in candidates
        ]
        admission = await self._quotas.admit(connection, self._phone_number_id, people, decide)
        for candidate, person, may, new in zip(candidates, people, admission.may, admission.new, strict=True):
            if new:
                self._new[candidate.range_id, candidate.seq] = person
            if not may:
                self._wait(candidate.campaign_id)
        return admission

    def _wait(self, campaign_id: int) -> None:
        if not self._waiting and self.standing is not None:
            log.info("quota_used_up", number=self._phone_number_id, reason=in_words([self.standing]))
        self._waiting.add(campaign_id)
