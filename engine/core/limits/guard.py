"""The guards: they decide whether a message may be sent now, later or never.

They check expiry, opt-out, hours and days, and the pair rate. Each guard returns `Pass`, `Defer(wait_s,
reason)` or `Refuse(reason)`. Waits are durations, not times: the guard's clock differs from the database's,
and a duration means the same on both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from zoneinfo import ZoneInfo

from drumbeat.engine.core.limits.recipient_reasons import WORDS, RecipientReason
from drumbeat.engine.core.limits.sending_hours import HORIZON, SendingHours, wait_in_words
from drumbeat.engine.core.units import SECOND_NS

PAIR_EVERY_S = 6.0  # open point: one message per 6 s for one number and one recipient
PAIR_BURST = 45  # open point: this many at once, paid back by a longer wait afterwards
# Pairs remembered for one number. 5,000/s make 30,000 pairs within 6 s; a burst keeps a pair for up to 270 s.
PAIRS_MAX = 250_000
# Admissions between two purges. A purge checks twice as many pairs, so the map shrinks while it is in use.
_PURGE_PERIOD = 256
_OWING_MAX = 32  # a purge gives up after this many pairs that are still in debt

OPTED_OUT = WORDS[RecipientReason.OPTED_OUT]
NO_COMMON_HOUR = f"{WORDS[RecipientReason.RECIPIENT_HOURS]}: its time zones share no hour within a month"


@dataclass(frozen=True, slots=True)
class Pass:
    """The verdict that the message may be sent now."""


@dataclass(frozen=True, slots=True)
class Defer:
    """The verdict that the message may be sent `wait_s` seconds from now at the earliest."""

    wait_s: float
    reason: str


@dataclass(frozen=True, slots=True)
class Refuse:
    """The verdict that the message may never be sent. The recipient is skipped with this reason."""

    reason: str


Verdict = Pass | Defer | Refuse
PASS = Pass()


def check_recipient(*, opted_out: bool, expires_ns: int | None, now_ns: int) -> Verdict:
    """Check opt-out and expiry. Both times are of one clock. One that expires at `now_ns` has expired."""
    if opted_out:
        return Refuse(OPTED_OUT)
    if expires_ns is not None and now_ns >= expires_ns:
        return Refuse(WORDS[RecipientReason.EXPIRED])
    return PASS


def check_hours(now: datetime, hours: SendingHours, zones: Sequence[ZoneInfo]) -> Pass | Defer:
    """Pass if all zones allow sending, otherwise Defer until they do."""
    opens_at = hours.opens_at(now, zones)
    if opens_at is None:
        return Defer(HORIZON.total_seconds(), NO_COMMON_HOUR)
    if opens_at <= now:
        return PASS
    return Defer((opens_at - now).total_seconds(), wait_in_words(opens_at, now, zones))


class PairGuard:
    """The pair rate for all recipients of one number: one message in `every_s`, and `burst` at once.

    A burst puts the recipient in debt. The guard keeps one integer for each recipient: the time at which its
    debt is paid. Recipients without debt are removed. At PAIRS_MAX the oldest one is removed too; the service
    still throttles that pair (131056).
    """

    def __init__(
        self, *, every_s: float = PAIR_EVERY_S, burst: int = PAIR_BURST, pairs_max: int = PAIRS_MAX
    ) -> None:
        if every_s <= 0 or burst < 1 or pairs_max < 1:
            raise ValueError("every_s must be above 0; burst and pairs_max must be at least 1")
        self._every_ns = int(every_s * SECOND_NS)
        self._credit_ns = self._every_ns * (burst - 1)
        self._pairs_max = pairs_max
        self._until_purge = _PURGE_PERIOD
        self._paid_ns: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._paid_ns)

    def admit(self, recipient: int, now_ns: int) -> Pass | Defer:
        """Return whether the recipient may get a message at `now_ns` (monotonic). Pass counts as one."""
        paid_ns = self._paid_ns.pop(recipient, now_ns)  # added again at the end: a purge checks the front
        if paid_ns < now_ns:
            paid_ns = now_ns
        elif paid_ns - now_ns > self._credit_ns:
            self._paid_ns[recipient] = paid_ns
            return Defer((paid_ns - now_ns - self._credit_ns) / SECOND_NS, WORDS[RecipientReason.PAIR_RATE])
        self._until_purge -= 1
        if not self._until_purge:
            self._purge(now_ns)
        elif len(self._paid_ns) >= self._pairs_max:
            del self._paid_ns[next(iter(self._paid_ns))]
        self._paid_ns[recipient] = paid_ns + self._every_ns
        return PASS

    def _purge(self, now_ns: int) -> None:
        """Remove recipients without debt, the oldest first. One with debt moves to the end.

        It gives up after a few recipients with debt: there is little to remove yet.
        """
        self._until_purge = _PURGE_PERIOD
        owing = 0
        for recipient in list(islice(self._paid_ns, 2 * _PURGE_PERIOD)):
            if owing >= _OWING_MAX:
                return
            paid_ns = self._paid_ns.pop(recipient)
            if paid_ns > now_ns and len(self._paid_ns) < self._pairs_max - 1:
                self._paid_ns[recipient] = paid_ns
                owing += 1
