"""What facts do to one recipient: the rule that the database's `present_state` and its statements must follow.

Facts may come in any order, twice, and from owners long gone. Law: evidence of acceptance outlives
everything, only the current attempt can fail a recipient, and only an attempt that certainly was not accepted makes
room for another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from drumbeat.engine.core.states import EvidenceRank, RecipientState

_STATE_OF_STATUS = {
    EvidenceRank.ACCEPTED: RecipientState.ACCEPTED,
    EvidenceRank.SENT: RecipientState.SENT,
    EvidenceRank.FAILED: RecipientState.FAILED,
    EvidenceRank.DELIVERED: RecipientState.DELIVERED,
    EvidenceRank.READ: RecipientState.READ,
}


def best(ranks: Iterable[EvidenceRank | None]) -> EvidenceRank | None:
    """The highest of some ranks, or None if nothing is known."""
    return max((rank for rank in ranks if rank is not None), default=None)


@dataclass(frozen=True, slots=True)
class Attempts:
    """All that is known about one recipient.

    `ranks[n - 1]` is the best rank of attempt n, so the current attempt is `len(ranks)`, 0 before the first claim.
    `refused`: the current attempt was certainly not accepted. `closed`: the campaign was cancelled or expired, so
    no attempt follows. `cancelled`: nobody waited for the current attempt's reply when an earlier attempt turned out
    to be accepted. No attempt follows, even if the accepted message fails later, as any message may: the service
    would accept a second message. `rejected`: attempts that the service refused for good; that says nothing about
    an earlier attempt.
    """

    ranks: tuple[EvidenceRank | None, ...] = ()
    refused: bool = False
    closed: bool = False
    cancelled: bool = False
    rejected: frozenset[int] = frozenset()

    @property
    def current(self) -> int:
        return len(self.ranks)


def visible_rank(attempts: Attempts) -> EvidenceRank | None:
    """The rank that decides the recipient's state: of its best attempt. Only the current one can fail it."""
    ranks = attempts.ranks
    if attempts.cancelled:  # the last attempt that reached anything is the current one
        ranks = ranks[: max(attempt_no for attempt_no, rank in enumerate(ranks, 1) if rank is not None)]
    earlier = (rank for rank in ranks[:-1] if rank is not EvidenceRank.FAILED)
    return best((*earlier, *ranks[-1:]))


def may_claim(attempts: Attempts) -> bool:
    """Whether another request may be written: never attempted or refused, open, and nothing accepted."""
    waiting = attempts.current == 0 or attempts.refused
    return waiting and not attempts.closed and visible_rank(attempts) is None


def claimed(attempts: Attempts) -> Attempts:
    """A committed claim begins the next attempt; ValueError if none is allowed."""
    if not may_claim(attempts):
        raise ValueError(f"no further attempt of {attempts}")
    return replace(attempts, ranks=(*attempts.ranks, None), refused=False)


def not_accepted(attempts: Attempts, attempt_no: int) -> Attempts:
    """An attempt was certainly not accepted. This counts if it is the current one and nothing settled it yet.

    A person or a campaign's policy that sends an attempt in doubt again has the same effect.
    """
    if attempt_no != attempts.current or not _is_open(attempts):
        return attempts
    return _unawaited(replace(attempts, refused=True))


def rejected(attempts: Attempts, attempt_no: int) -> Attempts:
    """The service refused an attempt for good; evidence that it accepted it after all outranks that."""
    if not 1 <= attempt_no <= attempts.current or attempts.ranks[attempt_no - 1] is not None:
        return attempts
    refused = attempts.refused and attempt_no != attempts.current
    return replace(attempts, rejected=attempts.rejected | {attempt_no}, refused=refused)


def lost(attempts: Attempts) -> Attempts:
    """No reply of the current attempt will come: its owner is gone, or the reply was lost."""
    return _unawaited(attempts)


def evidence(attempts: Attempts, attempt_no: int, rank: EvidenceRank, *, in_doubt: bool = False) -> Attempts:
    """An attempt reached a rank: by its reply (accepted) or by a status, whoever sent it.

    `in_doubt`: no reply of the current attempt will come. For a rejected attempt only delivered and read count.
    """
    if not 1 <= attempt_no <= attempts.current:
        return attempts
    if attempt_no in attempts.rejected and rank <= EvidenceRank.FAILED:
        return attempts
    ranks = list(attempts.ranks)
    ranks[attempt_no - 1] = best((ranks[attempt_no - 1], rank))
    learnt = replace(
        attempts,
        ranks=tuple(ranks),
        refused=attempts.refused and ranks[-1] is None,
        rejected=attempts.rejected - {attempt_no},
    )
    return _unawaited(learnt) if learnt.refused or in_doubt else learnt


def _unawaited(attempts: Attempts) -> Attempts:
    """Nobody waits for the current attempt: if an earlier one was accepted and did not fail, no attempt follows."""
    reached = _is_open(attempts) and visible_rank(attempts) is not None
    return replace(attempts, cancelled=attempts.cancelled or reached)


def _is_open(attempts: Attempts) -> bool:
    """Whether the current attempt is not settled."""
    return attempts.current > 0 and attempts.ranks[-1] is None and attempts.current not in attempts.rejected


def closed(attempts: Attempts) -> Attempts:
    """The campaign was cancelled or expired: what waits is skipped, later deferrals too."""
    return replace(attempts, closed=True)


def state_of(attempts: Attempts, *, owned: bool) -> RecipientState:
    """The state to show. `owned`: the epoch that claimed the current attempt still holds its range."""
    rank = visible_rank(attempts)
    if rank is not None:
        return _STATE_OF_STATUS[rank]
    if attempts.current in attempts.rejected:
        return RecipientState.FAILED
    if attempts.current == 0 or attempts.refused:
        return _state_of_waiting(attempts)
    return RecipientState.PENDING if owned else RecipientState.UNKNOWN


def _state_of_waiting(attempts: Attempts) -> RecipientState:
    if attempts.closed:
        return RecipientState.SKIPPED
    return RecipientState.DEFERRED if attempts.refused else RecipientState.PENDING
