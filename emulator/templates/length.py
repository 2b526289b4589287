"""The lengths of a filled template that the service enforces when a message is sent (open point)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.emulator.errors import Refused

BODY_LIMIT_CHARACTERS = 1024
HEADER_LIMIT_CHARACTERS = 60
URL_LIMIT_CHARACTERS = 2000
CODE_LIMIT_CHARACTERS = 15


@dataclass(frozen=True, slots=True)
class Room:
    """What a text has room for. `characters` are left beside its own; `times` is how often it shows each
    placeholder, and is None if it shows each once.
    """

    characters: int
    times: Mapping[str, int] | None

    def check(self, path: str, names: Sequence[str], values: Sequence[str]) -> None:
        """Raise Refused (132005) if the values do not fit. `names` are those of their placeholders."""
        if self.times is None:
            length = sum(map(len, values))
        else:
            length = sum(self.times[name] * len(value) for name, value in zip(names, values, strict=True))
        if length > self.characters:
            raise Refused(132005, f"{path}: the text is {length - self.characters} characters too long")


def room_in(text: str, names: Sequence[str], limit: int) -> Room:
    """Return the room of a text, given without its placeholders. `names` has those, each as often as it
    occurs.
    """
    times = Counter(names)
    return Room(limit - len(text), None if set(times.values()) <= {1} else times)


def check_code(path: str, code: Any) -> None:
    """Raise Refused (132005) if the code of a button is too long."""
    if isinstance(code, str) and len(code) > CODE_LIMIT_CHARACTERS:
        raise Refused(132005, f"{path}: a code has up to {CODE_LIMIT_CHARACTERS} characters")
