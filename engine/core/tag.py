"""The opaque tag of one attempt, `installation.range.seq.attempt_no.epoch`, which its statuses bring back.

It is the exact key of a send whose reply was lost. Law: at most 64 bytes of ASCII, and one spelling for
each tag, so that two different texts never name the same attempt. Anything else decodes to None: statuses of
other senders on the same number carry texts of their own.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from engine.core.integer import INT4_MAX

TAG_BYTES_MAX = 64  # 8 + 13 + 10 + 10 + 19 digits and four dots: the widest tag fits exactly
INT8_MAX = 2**63 - 1

_DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"
_INSTALLATION = re.compile(r"[0-9a-z]{8}", re.ASCII)
_DECIMAL = r"(0|[1-9][0-9]{0,18})"
# A tag's ends: its range, which up to a thousand tags share, and try with epoch, which nearly all tags share.
_RANGE = re.compile(r"([0-9a-z]{8})\.([1-9a-z][0-9a-z]{0,12})", re.ASCII)
_TRY = re.compile(rf"{_DECIMAL}\.{_DECIMAL}", re.ASCII)
ENDS_REMEMBERED = 4_096


class Tag(NamedTuple):
    """One try of one recipient: `range_id` from 1, `seq` from 0 in its range, `attempt_no` from 1."""

    installation: str
    range_id: int
    seq: int
    attempt_no: int
    epoch: int


def base36(number: int) -> str:
    """A number from 0 in digits and lower-case letters, without leading zeros."""
    if number < 0:
        raise ValueError(f"base 36 is written for numbers from 0, not {number}")
    written = ""
    while number >= 36:
        number, digit = divmod(number, 36)
        written = _DIGITS[digit] + written
    return _DIGITS[number] + written


class TagEncoder:
    """Writes the tags of one range under one epoch; the constant parts are written once."""

    __slots__ = ("_prefix", "_suffix")

    def __init__(self, installation: str, range_id: int, epoch: int) -> None:
        if not _INSTALLATION.fullmatch(installation):
            raise ValueError(f"an installation is 8 characters of [0-9a-z], not {installation!r}")
        _check_bounds("range_id", range_id, 1, INT8_MAX)
        _check_bounds("epoch", epoch, 0, INT8_MAX)
        self._prefix = f"{installation}.{base36(range_id)}."
        self._suffix = f".{epoch}"

    def encode(self, seq: int, attempt_no: int) -> str:
        """The tag of one attempt. The bounds are the columns' own (int4), so they are not looked at again."""
        return f"{self._prefix}{seq}.{attempt_no}{self._suffix}"


def encode(tag: Tag) -> str:
    """The text of any tag; ValueError where a part is out of its bounds."""
    _check_bounds("seq", tag.seq, 0, INT4_MAX)
    _check_bounds("attempt_no", tag.attempt_no, 1, INT4_MAX)
    return TagEncoder(tag.installation, tag.range_id, tag.epoch).encode(tag.seq, tag.attempt_no)


def decode(text: str) -> Tag | None:
    """The tag that a text names, or None for every other text. Never raises."""
    if not isinstance(text, str) or len(text) > TAG_BYTES_MAX:
        return None
    head, _, rest = text.partition(".")
    range_digits, _, rest = rest.partition(".")
    seq_digits, _, tail = rest.partition(".")
    of_range, of_try = _read_range(f"{head}.{range_digits}"), _read_try(tail)
    if of_range is None or of_try is None:
        return None
    try:
        seq = int(seq_digits)
    except ValueError:
        return None
    if not 0 <= seq <= INT4_MAX or str(seq) != seq_digits:
        return None
    # Not Tag(…): each status has one, and this is a call less.
    return tuple.__new__(Tag, (*of_range, seq, *of_try))


@lru_cache(ENDS_REMEMBERED)
def _read_range(text: str) -> tuple[str, int] | None:
    """Installation and range."""
    found = _RANGE.fullmatch(text)
    if found is None:
        return None
    range_id = int(found[2], 36)
    return (found[1], range_id) if range_id <= INT8_MAX else None


@lru_cache(ENDS_REMEMBERED)
def _read_try(text: str) -> tuple[int, int] | None:
    """Try and epoch."""
    found = _TRY.fullmatch(text)
    if found is None:
        return None
    attempt_no, epoch = int(found[1]), int(found[2])
    return (attempt_no, epoch) if 1 <= attempt_no <= INT4_MAX and epoch <= INT8_MAX else None


def _check_bounds(name: str, number: int, low: int, high: int) -> None:
    if not low <= number <= high:
        raise ValueError(f"{name} must be in {low}..{high}, not {number}")
