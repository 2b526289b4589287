"""The states of the protocol model: the store's rows, the owners, the service's ledger, and the protections.

`tests.model.attempts` says what the facts do to a recipient; the database is compared with it too. Time is
counted in permits: a permit lasts one tick, so a claim made before a tick may not be used after it.
"""

from dataclasses import dataclass, field, fields, replace

from drumbeat.engine.core.states import RecipientState
from tests.model.attempts import Attempts, state_of

REACHED = frozenset(
    (RecipientState.ACCEPTED, RecipientState.SENT, RecipientState.DELIVERED, RecipientState.READ)
)
PERMIT_TICKS = 1
LEASE_TICKS = 1
# Attempts of one owner that are claimed and not recorded. At this number it claims no more.
IN_DOUBT_MAX = 1
# A number was taken without proof that its owner is dead: the wait begins only when its ranges are fenced.
UNFENCED = 99


@dataclass(frozen=True, slots=True)
class Rules:
    """The protections. All of them hold; a mutant has one taken out."""

    watermark_before_write: bool = True
    epoch_compared: bool = True
    retries_claimed: bool = True
    permit_checked: bool = True
    wait_from_fence: bool = True
    wait_outlives_owner: bool = True
    wait_kept_until_fenced: bool = True
    lease_respected: bool = True
    counted_by_difference: bool = True
    stops_when_not_stored: bool = True
    release_proven: bool = True
    late_deferral_reopens: bool = True
    cancelled_for_good: bool = True
    later_attempts_seen: bool = True


RULES = Rules()
MUTANTS = tuple(replace(RULES, **{rule.name: False}) for rule in fields(Rules))


@dataclass(frozen=True, slots=True)
class Limits:
    """Where the exploration ends, and what may happen in it."""

    recipients: int = 2
    epochs: int = 3
    attempts: int = 2
    cancel: bool = False
    resend: bool = False  # at once when an attempt is in doubt: the declared policy that may send twice
    failures: bool = False  # a message that was accepted fails later
    lost_answers: bool = True


@dataclass(frozen=True, slots=True)
class Permit:
    """A claimed attempt in an owner's memory that is not written yet."""

    seq: int
    attempt_no: int
    ticks: int = PERMIT_TICKS


@dataclass(frozen=True, slots=True)
class Fact:
    """What an owner knows of an attempt and has not stored: kind "accepted", "refused" or "unknown"."""

    seq: int
    attempt_no: int
    kind: str


@dataclass(frozen=True, slots=True)
class Owner:
    """One start of a process. `replies`: the service has decided these requests, and the owner waits for the replies.

    `whole_wait` is what the former owner's end asks for; `wait_ticks` what is left of it.
    """

    epoch: int
    whole_wait: int
    wait_ticks: int
    fenced: bool = False
    stopping: bool = False
    known_watermark: int = 0
    permits: frozenset[Permit] = frozenset()
    replies: frozenset[Fact] = frozenset()
    facts: frozenset[Fact] = frozenset()

    @property
    def under_way(self) -> int:
        return len(self.permits) + len(self.replies) + len(self.facts)


@dataclass(frozen=True, slots=True)
class Recipient:
    """The store's row. `in_doubt`: its owner's epoch is gone, or its reply was lost."""

    attempts: Attempts = field(default_factory=Attempts)
    in_doubt: bool = False
    resent: bool = False
    reached: bool = False  # evidence of acceptance cancelled what waited

    @property
    def state(self) -> RecipientState:
        return state_of(self.attempts, owned=not self.in_doubt)


@dataclass(frozen=True, slots=True)
class World:
    """Everything: the number's row, the range's row, recipients, counts, owners, and the service's ledger."""

    recipients: tuple[Recipient, ...]
    owners: frozenset[Owner] = frozenset()
    epoch: int = 0
    lease_ticks: int = 0
    no_send_ticks: int = 0
    released: bool = True
    holder_dead: bool = False
    watermark: int = 0
    range_epoch: int = 0
    range_held: bool = False
    range_done: bool = False
    range_closed: bool = False
    counted_accepted: int = 0
    ledger: tuple[tuple[int, int], ...] = ()  # (seq, attempt_no) of every accepted message, sorted
    newest_epoch: int = 0
    epoch_fell: bool = False
    in_doubt_at_once: int = 0  # the most recipients that one takeover put in doubt


Step = tuple[str, World]


def start(limits: Limits) -> World:
    """Planned, and nobody has begun."""
    return World(tuple(Recipient() for _ in range(limits.recipients)))
