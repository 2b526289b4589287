"""What became of attempts, as it is handed to the store: values, without a word about how they are stored."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from engine.core.retry import Budget

REASON_CHARACTERS_MAX = 200
_UNSPENT = Budget()


class FactKind(StrEnum):
    """What a fact says of its attempt. The first three settle it."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    SKIPPED = "skipped"
    DEFERRED = "deferred"
    UNKNOWN = "unknown"


ACCEPTED = FactKind.ACCEPTED  # asked for by identity: to hash a member of an enum is a call
STORED_KIND = {FactKind.ACCEPTED: 1, FactKind.FAILED: 2, FactKind.SKIPPED: 3}


class Fact(NamedTuple):
    """One try of one recipient and what became of it.

    `attempt_no` counts requests from 1; 0 for a recipient that the guard deferred or refused before any.
    `attempted_us`: microseconds since 1970. `wait_s` and `spent` belong to DEFERRED. `suppress`: the
    recipient asked for silence. `throttled`: the service refused the attempt for pace.
    """

    campaign_id: int
    range_id: int
    seq: int
    attempt_no: int
    epoch: int
    phone_number_id: str
    kind: FactKind
    wamid: str | None = None
    code: int | None = None
    reason: str | None = None
    attempted_us: int | None = None
    wait_s: float = 0.0
    spent: Budget = _UNSPENT
    suppress: bool = False
    throttled: bool = False

    @property
    def key(self) -> tuple[int, int]:
        return self.range_id, self.seq

    @property
    def settles(self) -> bool:
        return self.kind is ACCEPTED or self.kind in STORED_KIND


@dataclass(frozen=True, slots=True)
class Attempts:
    """What one number did for one campaign since the last batch; adds up in `campaign_numbers`.

    The times are microseconds since 1970. `batch` counts the batches of one `results writer`, from 1: one
    that is replayed after a lost COMMIT counts once.
    """

    campaign_id: int
    phone_number_id: str
    limit_per_s: float
    attempts: int
    accepted: int
    throttled: int
    active_s: float
    cpu_s: float
    first_attempt_us: int
    last_attempt_us: int
    results_writer: str
    batch: int


def shortened(reason: str | None) -> str | None:
    """A service's text may hold a NUL, which Postgres refuses: one odd reply must not block a batch."""
    return None if reason is None else reason.replace("\x00", " ")[:REASON_CHARACTERS_MAX]
