"""The longest texts of a template: as it is created, and as it is filled by a send (open point)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.emulator.errors import Refused
from drumbeat.emulator.templates.placeholders import PLACEHOLDER

BODY_LIMIT_CHARACTERS = 1024
HEADER_LIMIT_CHARACTERS = 60
FOOTER_LIMIT_CHARACTERS = 60
TEXT_LIMITS_CHARACTERS = {"HEADER": HEADER_LIMIT_CHARACTERS, "FOOTER": FOOTER_LIMIT_CHARACTERS}
BUTTON_LIMIT_CHARACTERS = 25
QUICK_REPLY_LIMIT_CHARACTERS = 20
COUPON_LIMIT_CHARACTERS = 15
URL_LIMIT_CHARACTERS = 2000


@dataclass(frozen=True, slots=True)
class Room:
    """The characters that a text leaves to its values, up to `limit`.

    `fixed`: those of the text itself. `times`: how often each placeholder occurs, in the order of the values.
    `free`: values that have no more characters together fit, whichever placeholders they fill.
    """

    limit: int
    fixed: int
    times: tuple[int, ...]
    free: int

    def check(self, path: str, values: Sequence[Any]) -> None:
        """Raise `Refused` (132005) if the filled text is too long."""
        filled = sum(len(value) * times for value, times in zip(values, self.times, strict=True))
        check_length(path, self.fixed + filled, self.limit)


def room_of(text: str, names: Sequence[str], limit: int) -> Room:
    """Return the room of a text whose values come in the order of `names`."""
    found = PLACEHOLDER.findall(text)
    fixed = len(PLACEHOLDER.sub("", text))
    times = tuple(found.count(name) for name in names)
    return Room(limit, fixed, times, (limit - fixed) // max(times, default=1))


def check_length(path: str, length: int, limit: int) -> None:
    """Raise `Refused` (132005) for a filled text that is longer than its limit."""
    if length > limit:
        raise Refused(132005, f"{path}: the filled text has {length} characters, at most {limit} are allowed")
