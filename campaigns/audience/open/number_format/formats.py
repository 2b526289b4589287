"""One number format, ready for many cells, and the formats that workbooks name only by a number."""

from collections.abc import Callable, Mapping, Sequence

from drumbeat.campaigns.audience.open.number_format.dates import DateSection
from drumbeat.campaigns.audience.open.number_format.languages import ENGLISH, names_in
from drumbeat.campaigns.audience.open.number_format.numbers import compile_number, general
from drumbeat.campaigns.audience.open.number_format.sections import BOTH, DATE, TIME, Kind, Section, parse

GENERAL = "General"
# A date, a time or both in the form that each computer has set. They are read in a form of no country.
SYSTEM_DATE, SYSTEM_TIME, SYSTEM_BOTH = "[$-F800]", "[$-F400]", "[$-F800] [$-F400]"
_NEUTRAL = {DATE: "yyyy-mm-dd", TIME: "hh:mm:ss", BOTH: "yyyy-mm-dd hh:mm"}
# Source: ECMA-376, 18.8.30. The forms of dates 14 and 22 are those of the computer.
BUILT_IN: Mapping[int, str] = {
    0: GENERAL, 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00",
    5: '"$"#,##0_);("$"#,##0)', 6: '"$"#,##0_);[Red]("$"#,##0)', 7: '"$"#,##0.00_);("$"#,##0.00)',
    8: '"$"#,##0.00_);[Red]("$"#,##0.00)', 9: "0%", 10: "0.00%", 11: "0.00E+00", 12: "# ?/?", 13: "# ??/??",
    14: SYSTEM_DATE, 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM",
    20: "h:mm", 21: "h:mm:ss", 22: SYSTEM_BOTH, 37: "#,##0_);(#,##0)", 38: "#,##0_);[Red](#,##0)",
    39: "#,##0.00_);(#,##0.00)", 40: "#,##0.00_);[Red](#,##0.00)",
    41: '_(* #,##0_);_(* (#,##0);_(* "-"_);_(@_)', 42: '_("$"* #,##0_);_("$"* (#,##0);_("$"* "-"_);_(@_)',
    43: '_(* #,##0.00_);_(* (#,##0.00);_(* "-"??_);_(@_)',
    44: '_("$"* #,##0.00_);_("$"* (#,##0.00);_("$"* "-"??_);_(@_)',
    45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
    **dict.fromkeys((*range(27, 37), *range(50, 59)), SYSTEM_DATE),
}  # fmt: skip
_Show = Callable[[float], str | None]
_NOT_ZERO = frozenset("123456789")
_POSITIVE, _NEGATIVE, _ZERO, _TEXT = range(4)


class CellFormat:
    """A number format. `finding` is the code of what people must know before they trust its texts: it cannot
    be applied, the form depends on the computer, or names of months are in a language that is not stored.
    """

    def __init__(self, code: str) -> None:
        self.code = code
        self.finding = ""
        sections = parse(code)
        shows = None if sections is None else [self._compiled(section) for section in sections]
        if sections is None or shows is None or None in shows:
            self.finding = "format_unknown"
            sections, shows = [Section()], [general]
        texts = sections[_TEXT:] or _only_text(sections)
        self._around_text = _around_text(texts[0]) if texts else ["", ""]
        self._sections: Sequence[Section] = sections[: len(sections) - len(texts)] or [Section()]
        self._shows = [show for show in shows if show is not None]
        self._has_conditions = any(section.condition for section in self._sections)
        self.is_date = any(section.is_date or section.system for section in sections)

    @property
    def is_plain(self) -> bool:
        """Return whether the format changes no cell: General, or the format for texts."""
        return not self.finding and self.code.strip().lower() in ("", "general", "@")

    def show_text(self, text: str) -> str:
        """Return what a text cell shows."""
        return text.join(self._around_text)

    def show(self, value: float) -> str | None:
        """Return what a number shows; None where a spreadsheet shows ####."""
        at = self._by_condition(value) if self._has_conditions else self._by_sign(value)
        if at is None:
            return None
        if value >= 0:
            text = self._shows[at](value)
            return None if text is None else text.strip()
        section = self._sections[at]
        if section.is_date or section.system:
            return None
        text = (self._shows[at](-value) or "").strip()
        # Only a section that also is for positive numbers has no sign of its own.
        if at == _POSITIVE or section.condition is not None:
            return f"-{text}" if not _NOT_ZERO.isdisjoint(text) else text
        return text

    def _by_sign(self, value: float) -> int:
        if value < 0:
            return min(_NEGATIVE, len(self._sections) - 1)
        return _ZERO if value == 0 and len(self._sections) > _ZERO else _POSITIVE

    def _by_condition(self, value: float) -> int | None:
        last = len(self._sections) - 1
        for at, section in enumerate(self._sections):
            if section.condition is None:
                if at == last or (at == _NEGATIVE and value < 0) or (at == _POSITIVE and value > 0):
                    return at
            elif section.condition[0](value, section.condition[1]):
                return at
        return None

    def _compiled(self, section: Section) -> _Show | None:
        if section.system:
            return self._system(section)
        if section.is_date:
            return self._date(section)
        if section.has(Kind.GENERAL):
            return _General(section).show
        if section.has(Kind.TEXT):
            return general
        return compile_number(section.tokens)

    def _system(self, section: Section) -> _Show | None:
        self.finding = "format_system"
        neutral = parse(_NEUTRAL[section.system])
        return None if neutral is None else DateSection(neutral[0].tokens).show

    def _date(self, section: Section) -> _Show | None:
        names = names_in(section.language) if section.language else ENGLISH
        shown = DateSection(section.tokens, names or ENGLISH)
        if not shown.is_known or names is None:
            return None
        if shown.named and not section.language:
            self.finding = "format_language"
        return shown.show


class _General:
    """A section that shows a number as a cell without a format does, with literals around it."""

    def __init__(self, section: Section) -> None:
        self._tokens = section.tokens

    def show(self, value: float) -> str:
        shown = general(value)
        return "".join(shown if token.kind is Kind.GENERAL else token.text for token in self._tokens)


def _only_text(sections: Sequence[Section]) -> list[Section]:
    """Return the last section if it is for texts alone."""
    last = sections[-1]
    return [last] if last.has(Kind.TEXT) and not last.has(Kind.DIGIT, Kind.GENERAL) else []


def _around_text(section: Section) -> list[str]:
    """Return what stands before, between and after the texts of a section, without spaces at its ends."""
    parts = [""]
    for token in section.tokens:
        if token.kind is Kind.TEXT:
            parts.append("")
        else:
            parts[-1] += token.text
    return [parts[0].lstrip(), *parts[1:-1], parts[-1].rstrip()] if len(parts) > 1 else parts
