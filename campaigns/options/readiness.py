"""The options that say when an audience is complete, for jobs that run before a person looks at it.

Until it is, a command ends with 75: the same command works once the file or the rows are there.
"""

import re
from dataclasses import dataclass

from drumbeat.campaigns.options.sources import STANDARD_INPUT
from drumbeat.campaigns.options.table import CampaignOptions
from drumbeat.engine.errors import UsageError

UNCHANGED_MAX_S = 86_400
_SECONDS = {"s": 1, "m": 60, "h": 3_600}
_UNCHANGED_FOR = re.compile(r"([0-9]{1,6})([smh])")
_MIN_RECIPIENTS = re.compile(r"([0-9]{1,9})|([0-9]{1,3})% of (.+)")


@dataclass(frozen=True, slots=True)
class LeastOf:
    """A share of the recipients of another campaign. A `*` in its name stands for any text: then the newest
    campaign of such a name counts.
    """

    percent: int
    name: str

    @property
    def is_pattern(self) -> bool:
        return "*" in self.name


@dataclass(frozen=True, slots=True)
class Readiness:
    """The conditions that must hold before an audience is planned. `least` is a number of recipients, or a
    share of those of another campaign.
    """

    least: int | LeastOf | None = None
    unchanged_for_s: int = 0
    allow_empty: bool = False


def read_readiness(options: CampaignOptions) -> Readiness:
    """Check and read the options. Raise a UsageError that names the one that is wrong."""
    least = None if options.min_recipients is None else _read_least(options.min_recipients)
    seconds = 0 if options.unchanged_for is None else _read_seconds(options.unchanged_for)
    if seconds and (options.audience is None or options.audience == STANDARD_INPUT):
        raise UsageError(
            "{unchanged_for} is for files, and the audience is none", remedy="remove it", values={}
        )
    return Readiness(least, seconds, options.allow_empty)


def _read_least(text: str) -> int | LeastOf:
    found = _MIN_RECIPIENTS.fullmatch(text.strip())
    if found is not None and found[1] is not None and int(found[1]) > 0:
        return int(found[1])
    if found is not None and found[2] is not None and 0 < int(found[2]) <= 100:
        return LeastOf(int(found[2]), found[3])
    raise UsageError(
        "{min_recipients} {text!r} cannot be read",
        remedy='write 1000, "50% of orders-2026-03-01" or "50% of orders-*"',
        values={"text": text},
    )


def _read_seconds(text: str) -> int:
    found = _UNCHANGED_FOR.fullmatch(text.strip())
    seconds = 0 if found is None else int(found[1]) * _SECONDS[found[2]]
    if not 0 < seconds <= UNCHANGED_MAX_S:
        raise UsageError(
            "{unchanged_for} {text!r} cannot be read",
            remedy="write 60s, 5m or 1h; at most 24h",
            values={"text": text},
        )
    return seconds
