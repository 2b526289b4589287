"""The opaque tag of one attempt, `installation.range.seq.attempt_no.epoch`. Its statuses return it.

The tag identifies an attempt whose reply was lost. Law: a tag has at most 64 bytes of ASCII and exactly one
form, so two different texts never name the same attempt. Any other text decodes to None: other senders on
the same number put their own texts there.
"""

import re
from functools import lru_cache
from typing import NamedTuple

from drumbeat.engine.core.integer import INT4_MAX

TAG_BYTES_MAX = 64  # 8 + 13 + 10 + 10 + 19 characters and four dots: the widest tag fits exactly
INT8_MAX = 2**63 - 1

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_INSTALLATION = re.compile(r"[0-9a-z]{8}", re.ASCII)
_DECIMAL = r"(0|[1-9][0-9]{0,18})"
# The two ends of a tag are decoded through a cache: up to a thousand tags share installation and range, and
# nearly all share attempt and epoch.
_RANGE = re.compile(r"([0-9a-z]{8})\.([1-9a-z][0-9a-z]{0,12})", re.ASCII)
_ATTEMPT = re.compile(rf"{_DECIMAL}\.{_DECIMAL}", re.ASCII)
CACHED_ENDS_MAX = 4_096


class Tag(NamedTuple):
    """A tag: one attempt for one recipient. `range_id` and `attempt_no` count from 1, `seq` from 0 in its
    range.
    """

    installation: str
    range_id: int
    seq: int
    attempt_no: int
    epoch: int


def base36(number: int) -> str:
    """Return a number, at least 0, in digits and lower-case letters without leading zeros."""
    if number < 0:
        raise ValueError(f"a number in base 36 must be at least 0, not {number}")
    written = ""
    while number >= 36:
        number, digit = divmod(number, 36)
        written = _DIGITS[digit] + written
    return _DIGITS[number] + written


class TagEncoder:
    """A writer of the tags of one range and one epoch. The constant parts are built once."""

    __slots__ = ("_prefix", "_suffix")

    def __init__(self, installation: str, range_id: int, epoch: int) -> None:
        if not _INSTALLATION.fullmatch(installation):
            raise ValueError(f"installation must be 8 characters of [0-9a-z], not {installation!r}")
        _check_bounds("range_id", range_id, 1, INT8_MAX)
        _check_bounds("epoch", epoch, 0, INT8_MAX)
        self._prefix = f"{installation}.{base36(range_id)}."
        self._suffix = f".{epoch}"

    def encode(self, seq: int, attempt_no: int) -> str:
        """Return the tag of one attempt. Both numbers are from int4 columns, so no bounds are checked."""
        return f"{self._prefix}{seq}.{attempt_no}{self._suffix}"


def encode(tag: Tag) -> str:
    """Return the text of a tag. Raises ValueError if a part is out of bounds."""
    _check_bounds("seq", tag.seq, 0, INT4_MAX)
    _check_bounds("attempt_no", tag.attempt_no, 1, INT4_MAX)
    return TagEncoder(tag.installation, tag.range_id, tag.epoch).encode(tag.seq, tag.attempt_no)


def decode(text: str) -> Tag | None:
    """Return the tag that a text encodes, or None for any other text. Never raises."""
    if not isinstance(text, str) or len(text) > TAG_BYTES_MAX:
        return None
    head, _, rest = text.partition(".")
    range_digits, _, rest = rest.partition(".")
    seq_digits, _, tail = rest.partition(".")
    range_part, attempt_part = _read_range(f"{head}.{range_digits}"), _read_attempt(tail)
    if range_part is None or attempt_part is None:
        return None
    try:
        seq = int(seq_digits)
    except ValueError:
        return None
    if not 0 <= seq <= INT4_MAX or str(seq) != seq_digits:
        return None
    # One call less than Tag(…), for every status.
    return tuple.__new__(Tag, (*range_part, seq, *attempt_part))


@lru_cache(CACHED_ENDS_MAX)
def _read_range(text: str) -> tuple[str, int] | None:
    """Read installation and range id."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    range_id = int(found[2], 36)
    return (found[1], range_id) if range_id <= INT8_MAX else None


@lru_cache(CACHED_ENDS_MAX)
def _read_attempt(text: str) -> tuple[int, int] | None:
    """Read attempt number and epoch."""
    found = _ATTEMPT.fullmatch(text)
    if found is None:
        return None
    attempt_no, epoch = int(found[1]), int(found[2])
    return (attempt_no, epoch) if 1 <= attempt_no <= INT4_MAX and epoch <= INT8_MAX else None


def _check_bounds(name: str, number: int, low: int, high: int) -> None:
    if not low <= number <= high:
        raise ValueError(f"{name} must be in {low}..{high}, not {number}")
