"""Dates, times and durations as a section shows them. A serial number counts days from the end of 1899."""

from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from drumbeat.campaigns.audience.open.number_format.languages import ENGLISH, Names
from drumbeat.campaigns.audience.open.number_format.sections import Kind, Token

ShowDate = Callable[[float], str | None]
SERIAL_MAX = 2_958_466  # after 9999-12-31
DAY_S = 86_400
_NO_LEAP_DAY = 60  # Excel counts 1900-02-29, which never was
_EPOCH, _EARLY_EPOCH = date(1899, 12, 30), date(1899, 12, 31)
_DAY_KINDS = ("y", "d", "e")
_NOON = 12
_TIME_SIGNS = "hns"  # n marks minutes, since m is a month
_UNITS_S = {"h": 3600, "n": 60, "m": 60, "s": 1}


class _Moment(NamedTuple):
    """A serial number taken apart. `seconds` counts from the beginning, `below` are parts of a second. `day`
    is None in its first day, which is no date.
    """

    seconds: int
    below: int
    day: date | None


class DateSection:
    """A section with dates or times. `named` says that it shows names of months or days."""

    def __init__(self, tokens: Sequence[Token], names: Names = ENGLISH) -> None:
        self._names = names
        self._tokens, self._decimals = _with_minutes(_with_parts_of_seconds(tokens))
        signs = [token.text for token in self._tokens if token.kind is Kind.DATE]
        self.named = any(sign[0] in "md" and len(sign) > 2 for sign in signs)
        self._has_day = any(sign[0] in _DAY_KINDS or sign[0] == "m" for sign in signs)
        self._day_beside_month = any(sign in ("d", "dd") for sign in signs)
        self._half_days = any(token.kind is Kind.HALF_DAY for token in self._tokens)
        self.is_known = all(
            token.kind in (Kind.LITERAL, Kind.DATE, Kind.HALF_DAY, Kind.ELAPSED) for token in self._tokens
        )

    def show(self, serial: float) -> str | None:
        """Return the text; None if there is no such date or time, where a spreadsheet shows ####."""
        moment = _moment(serial, self._decimals)
        if moment is None or (self._has_day and moment.day is None):
            return None
        return "".join(self._shown(token, moment) for token in self._tokens)

    def _shown(self, token: Token, moment: _Moment) -> str:
        if token.kind is Kind.LITERAL:
            return token.text
        if token.kind is Kind.ELAPSED:
            total = moment.seconds // _UNITS_S[token.text[0]]
            return f"{total:0{len(token.text)}d}"
        if token.kind is Kind.HALF_DAY:
            return self._half_day(token.text, moment.seconds % DAY_S >= DAY_S // 2)
        if token.text[0] == ".":
            return f".{moment.below:0{self._decimals}d}"
        if token.text[0] in _TIME_SIGNS:
            return self._time(token.text, moment.seconds % DAY_S)
        return self._day(token.text, moment.day) if moment.day is not None else ""

    def _half_day(self, sign: str, is_second: bool) -> str:
        return self._names.half_days[is_second] if sign.lower() == "am/pm" else sign[2 * is_second]

    def _time(self, sign: str, seconds: int) -> str:
        if sign[0] == "h":
            hours = seconds // 3600
            number = (hours % _NOON or _NOON) if self._half_days else hours
        else:
            number = seconds // _UNITS_S[sign[0]] % 60
        return f"{number:0{min(len(sign), 2)}d}"

    def _day(self, sign: str, day: date) -> str:
        if sign[0] in "ye":
            return f"{day.year % 100:02d}" if sign in ("y", "yy") else f"{day.year:04d}"
        if sign[0] == "d":
            return _sized(sign, day.day, self._names.short_days, self._names.days, day.weekday())
        months = self._names.months_of_date if self._day_beside_month else self._names.months
        if len(sign) > 4:
            return months[day.month - 1][:1]
        return _sized(sign, day.month, self._names.short_months, months, day.month - 1)


def _sized(sign: str, number: int, short: Sequence[str], names: Sequence[str], at: int) -> str:
    """Return a day or month by the length of its sign: 5, 05, Mar, March."""
    if len(sign) <= 2:
        return f"{number:0{len(sign)}d}"
    return short[at] if len(sign) == 3 else names[at]


def _moment(serial: float, decimals: int) -> _Moment | None:
    if not 0 <= serial < SERIAL_MAX:
        return None
    seconds, below = divmod(round(serial * DAY_S * 10**decimals), 10**decimals)
    days = seconds // DAY_S
    if not 1 <= days < SERIAL_MAX or days == _NO_LEAP_DAY:
        return _Moment(seconds, below, None)
    epoch = _EPOCH if days > _NO_LEAP_DAY else _EARLY_EPOCH
    return _Moment(seconds, below, epoch + timedelta(days=days))


def _with_parts_of_seconds(tokens: Sequence[Token]) -> list[Token]:
    """Join a point and the zeros after seconds to one sign. Other points, commas and slashes are literals."""
    joined: list[Token] = []
    seconds = False
    for token in tokens:
        if token.kind is Kind.DIGIT and joined and joined[-1].text[:1] == "." and seconds:
            joined[-1] = Token(Kind.DATE, joined[-1].text + token.text)
        elif token.kind in (Kind.POINT, Kind.COMMA, Kind.SLASH, Kind.PERCENT):
            joined.append(Token(Kind.LITERAL, token.text))
        else:
            joined.append(token)
        if token.kind in (Kind.DATE, Kind.ELAPSED):
            seconds = token.text[0] == "s"
        elif token.kind is Kind.LITERAL:
            seconds = False
    return joined


def _with_minutes(tokens: Sequence[Token]) -> tuple[list[Token], int]:
    """Mark the minutes by n: an m after hours or before seconds. Return the tokens and the parts of a second
    as a number of decimals.
    """
    signs = [at for at, token in enumerate(tokens) if token.kind in (Kind.DATE, Kind.ELAPSED)]
    marked = list(tokens)
    for before, at, after in zip([None, *signs], signs, [*signs[1:], None], strict=False):
        if tokens[at].kind is Kind.DATE and tokens[at].text in ("m", "mm"):
            after_hours = before is not None and tokens[before].text[0] == "h"
            before_seconds = after is not None and tokens[after].text[0] == "s"
            if after_hours or before_seconds:
                marked[at] = Token(Kind.DATE, "n" * len(tokens[at].text))
    parts = [len(token.text) - 1 for token in tokens if token.kind is Kind.DATE and token.text[0] == "."]
    return marked, max(parts, default=0)
