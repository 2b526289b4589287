"""The pair rate: the limit on messages of one number to one recipient.

One message per 6 s; a burst of up to 45 within 6 s is borrowed from the future, which means that after n
messages the pair is free again n times 6 s after the first of them (open point: "borrowed from the future").
Recipients are remembered for about one spacing; only those who exceed the rate are remembered for longer.
"""

from typing import Any

from drumbeat.emulator.clock import SECOND_NS

SPACING_NS = 6 * SECOND_NS
BURST = 45
# Above this size paid debts are removed. This is rare and takes a few milliseconds.
DEBTORS_SWEPT_AT = 10_000


class PairRate:
    """The pair rate of one number. The caller gives the time."""

    __slots__ = ("_before", "_debtors", "_newest", "_sweep_at", "_turned_ns")

    def __init__(self) -> None:
        # recipient -> when its only recent message was accepted, in two generations of one spacing each
        self._newest: dict[int, int] = {}
        self._before: dict[int, int] = {}
        # recipient -> (first of the burst, messages in it)
        self._debtors: dict[int, tuple[int, int]] = {}
        self._turned_ns = 0
        self._sweep_at = DEBTORS_SWEPT_AT

    def admit(self, recipient: int, now_ns: int) -> bool:
        """Return whether a message to `recipient` at `now_ns` keeps the pair rate. If it does, count it."""
        if now_ns - self._turned_ns >= SPACING_NS:
            self._turn(now_ns)
        began_ns, messages = self._newest.get(recipient), 1
        if began_ns is None:
            began_ns = self._before.get(recipient)
        if self._debtors and recipient in self._debtors:
            began_ns, messages = self._debtors[recipient]
        if began_ns is None or now_ns >= began_ns + messages * SPACING_NS:
            if self._debtors:
                self._debtors.pop(recipient, None)
            self._newest[recipient] = now_ns
            return True
        if messages < BURST and now_ns - began_ns < SPACING_NS:
            self._debtors[recipient] = (began_ns, messages + 1)
            return True
        return False

    def dump(self) -> dict[str, Any]:
        """Return the state for a snapshot."""
        return {
            "newest": list(self._newest.items()),
            "before": list(self._before.items()),
            "debtors": [(recipient, *debt) for recipient, debt in self._debtors.items()],
            "turned_ns": self._turned_ns,
        }

    @classmethod
    def load(cls, state: dict[str, Any]) -> "PairRate":
        """Return the pair rate of a dumped state."""
        pair = cls()
        pair._newest = dict(state["newest"])
        pair._before = dict(state["before"])
        pair._debtors = {
            recipient: (began_ns, messages) for recipient, began_ns, messages in state["debtors"]
        }
        pair._turned_ns = state["turned_ns"]
        return pair

    def _turn(self, now_ns: int) -> None:
        """Forget single messages older than a spacing, and debts that are paid."""
        self._before = self._newest if now_ns - self._turned_ns < 2 * SPACING_NS else {}
        self._newest = {}
        self._turned_ns = now_ns
        if len(self._debtors) >= self._sweep_at:
            self._debtors = {
                recipient: debt
                for recipient, debt in self._debtors.items()
                if now_ns < debt[0] + debt[1] * SPACING_NS
            }
            self._sweep_at = max(DEBTORS_SWEPT_AT, 2 * len(self._debtors))
