"""What facts do to one recipient: the rule that the database's `present_state` and its statements must follow.

Facts may come in any order, twice, and from owners long gone. Law: evidence of acceptance outlives
everything, only the current attempt can fail a recipient, and only an attempt that certainly was not accepted makes
room for another.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from engine.core.states import EvidenceRank, RecipientState

_STATE_OF_STATUS = {
    EvidenceRank.ACCEPTED: RecipientState.ACCEPTED,
    EvidenceRank.SENT: RecipientState.SENT,
    EvidenceRank.FAILED: RecipientState.FAILED,
    EvidenceRank.DELIVERED: RecipientState.DELIVERED,
    EvidenceRank.READ: RecipientState.READ,
}


def best(ranks: Iterable[EvidenceRank | None]) -> EvidenceRank | None:
    """The highest of some ranks, or None where nothing is known."""
    return max((rank for rank in ranks if rank is not None), default=None)


@dataclass(frozen=True, slots=True)
class Tries:
    """All that is known about one recipient.

    `ranks[n - 1]` is the best rank of try n, so the current attempt is `len(ranks)`, 0 before the first claim.
    `refused`: the current attempt was certainly not accepted. `closed`: the campaign was cancelled or expired, so
    no attempt follows. `cancelled`: nobody waited for the current attempt's reply when an earlier attempt turned out to
    be accepted. That ends the sending for good: should the accepted one fail later, as any message may, the
    recipient has failed. To bring the deferral back would send a second message that the service accepts.
    `rejected`: tries that the service refused for good; that says nothing about what an earlier one reached.
    """

    ranks: tuple[EvidenceRank | None, ...] = ()
    refused: bool = False
    closed: bool = False
    cancelled: bool = False
    rejected: frozenset[int] = frozenset()

    @property
    def current(self) -> int:
        return len(self.ranks)


def rank_shown(tries: Tries) -> EvidenceRank | None:
    """The rank that the recipient shows: its best try, where only the current one can fail it."""
    ranks = tries.ranks
    if tries.cancelled:  # the last attempt that reached anything is the current one
        ranks = ranks[: max(place for place, rank in enumerate(ranks, 1) if rank is not None)]
    earlier = (rank for rank in ranks[:-1] if rank is not EvidenceRank.FAILED)
    return best((*earlier, *ranks[-1:]))


def may_claim(tries: Tries) -> bool:
    """Whether another request may be written: never tried or refused, open, and nothing accepted."""
    waiting = tries.current == 0 or tries.refused
    return waiting and not tries.closed and rank_shown(tries) is None


def claimed(tries: Tries) -> Tries:
    """A committed claim begins the next try; ValueError where none is allowed."""
    if not may_claim(tries):
        raise ValueError(f"no further try of {tries}")
    return replace(tries, ranks=(*tries.ranks, None), refused=False)


def not_accepted(tries: Tries, attempt_no: int) -> Tries:
    """A try was certainly not accepted: counts if it is the current one and nothing settled it yet.

    The same holds for a person's word, or a campaign's policy, that an attempt in doubt is to be sent again.
    """
    if attempt_no != tries.current or not _is_open(tries):
        return tries
    return _unawaited(replace(tries, refused=True))


def rejected(tries: Tries, attempt_no: int) -> Tries:
    """The service refused an attempt for good; evidence that it accepted it after all outranks that."""
    if not 1 <= attempt_no <= tries.current or tries.ranks[attempt_no - 1] is not None:
        return tries
    refused = tries.refused and attempt_no != tries.current
    return replace(tries, rejected=tries.rejected | {attempt_no}, refused=refused)


def lost(tries: Tries) -> Tries:
    """No reply of the current attempt will come: its owner is gone, or the reply was lost."""
    return _unawaited(tries)


def evidence(tries: Tries, attempt_no: int, rank: EvidenceRank, *, doubted: bool = False) -> Tries:
    """A try reached a rank: by its reply (accepted) or by a status, whoever sent it.

    `doubted`: no reply of the current attempt will come. Of a rejected try only what was seen on a phone counts.
    """
    if not 1 <= attempt_no <= tries.current:
        return tries
    if attempt_no in tries.rejected and rank <= EvidenceRank.FAILED:
        return tries
    ranks = list(tries.ranks)
    ranks[attempt_no - 1] = best((ranks[attempt_no - 1], rank))
    learnt = replace(
        tries,
        ranks=tuple(ranks),
        refused=tries.refused and ranks[-1] is None,
        rejected=tries.rejected - {attempt_no},
    )
    return _unawaited(learnt) if learnt.refused or doubted else learnt


def _unawaited(tries: Tries) -> Tries:
    """Nobody waits for the current attempt: where an earlier one was accepted and did not fail, all is over."""
    reached = _is_open(tries) and rank_shown(tries) is not None
    return replace(tries, cancelled=tries.cancelled or reached)


def _is_open(tries: Tries) -> bool:
    """Whether the current attempt is not settled."""
    return tries.current > 0 and tries.ranks[-1] is None and tries.current not in tries.rejected


def closed(tries: Tries) -> Tries:
    """The campaign was cancelled or expired: what waits is skipped, later deferrals too."""
    return replace(tries, closed=True)


def state_of(tries: Tries, *, owned: bool) -> RecipientState:
    """The state to show. `owned`: the epoch that claimed the current attempt still holds its range."""
    rank = rank_shown(tries)
    if rank is not None:
        return _STATE_OF_STATUS[rank]
    if tries.current in tries.rejected:
        return RecipientState.FAILED
    if tries.current == 0 or tries.refused:
        return _state_of_waiting(tries)
    return RecipientState.PENDING if owned else RecipientState.UNKNOWN


def _state_of_waiting(tries: Tries) -> RecipientState:
    if tries.closed:
        return RecipientState.SKIPPED
    return RecipientState.DEFERRED if tries.refused else RecipientState.PENDING
