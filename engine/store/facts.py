"""The facts about attempts, as values. `engine.store.recording` stores them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from drumbeat.engine.core.retry import Budget

REASON_CHARACTERS_MAX = 200
SEPARATOR = "\x1f"  # between texts that one argument of a statement carries
_UNSTORABLE = str.maketrans({"\x00": " ", SEPARATOR: " "})  # Postgres refuses a NUL
_UNSPENT = Budget()


class FactKind(StrEnum):
    """The kinds of facts about an attempt. The first three settle it."""

    ACCEPTED = "accepted"
    FAILED = "failed"
    SKIPPED = "skipped"
    DEFERRED = "deferred"
    UNKNOWN = "unknown"


ACCEPTED = FactKind.ACCEPTED  # compared by identity, because hashing a member of an enum costs a call
STORED_KIND = {FactKind.ACCEPTED: 1, FactKind.FAILED: 2, FactKind.SKIPPED: 3}


class Fact(NamedTuple):
    """A fact: one attempt for one recipient, and its result.

    `attempt_no` counts requests from 1; it is 0 if the guard deferred or refused the recipient before any.
    `attempted_us` is in microseconds since 1970. `wait_s` and `spent` belong to DEFERRED. `suppress`: the
    recipient opted out. `throttled`: the service refused the attempt because the pace was too high.
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
class AttemptCounts:
    """The work of one number for one campaign since the last batch. The table campaign_numbers holds the
    sums.

    Times are microseconds since 1970. `batch` counts the batches of one `results_writer` from 1, so that a
    batch that is repeated after a lost COMMIT counts once. `reply_counts` has how long replies took, in the
    buckets of engine/core/reply_times.py.
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
    reply_counts: list[int] | None = None


def shortened(reason: str | None) -> str | None:
    """Return a reason in a form that can be stored: one odd reply must not block a batch."""
    return None if reason is None else reason.translate(_UNSTORABLE)[:REASON_CHARACTERS_MAX]
