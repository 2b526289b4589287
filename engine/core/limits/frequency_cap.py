"""The frequency cap: how many messages one person may get within a time, from all campaigns and numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import timedelta

from drumbeat.engine.core.limits.recipient_reasons import WORDS, RecipientReason

_TEXT = re.compile(r"([1-9]\d{0,3})/([1-9]\d{0,3})([hd])")
_UNITS = {"h": timedelta(hours=1), "d": timedelta(days=1)}
PERIOD_MAX = timedelta(days=90)  # `db prune` may have removed what is older


@dataclass(frozen=True, slots=True)
class FrequencyCap:
    """A cap: at most `messages` to one person in any `period`, the message that is to be sent included."""

    messages: int
    period: timedelta

    @classmethod
    def parse(cls, text: str) -> FrequencyCap:
        """Read `2/7d` or `1/12h`. Raises ValueError for anything else."""
        found = _TEXT.fullmatch(text.strip())
        if found is None or int(found[2]) * _UNITS[found[3]] > PERIOD_MAX:
            raise ValueError(text)
        return cls(int(found[1]), int(found[2]) * _UNITS[found[3]])

    @property
    def reason(self) -> str:
        """Return the reason why a recipient over the cap is skipped."""
        hours = int(self.period / _UNITS["h"])
        period = f"{hours // 24} d" if hours % 24 == 0 else f"{hours} h"
        return f"{WORDS[RecipientReason.FREQUENCY_CAP]}: {self.messages} in {period}"
