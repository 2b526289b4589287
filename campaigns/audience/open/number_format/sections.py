"""A number format taken apart: up to four sections of tokens, each with its condition and language.

A section without a condition is for positive numbers, negative ones, zero and texts, in this order.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from operator import eq, ge, gt, le, lt, ne

SECTIONS_MAX = 4
CODE_CHARACTERS_MAX = 255  # a spreadsheet takes no longer one


class Kind(Enum):
    """The kinds of tokens."""

    LITERAL = auto()
    DIGIT = auto()  # 0, # or ?
    POINT = auto()
    COMMA = auto()
    PERCENT = auto()
    EXPONENT = auto()  # E+ or E-
    SLASH = auto()
    GENERAL = auto()
    TEXT = auto()  # @
    DATE = auto()  # a run of one letter, such as yyyy
    HALF_DAY = auto()  # AM/PM or A/P
    ELAPSED = auto()  # [h], [mm] or [ss]


@dataclass(frozen=True, slots=True)
class Token:
    """A part of a section. `text` is what a literal shows, and otherwise the sign itself, in lower case but
    for AM/PM."""

    kind: Kind
    text: str


@dataclass(slots=True)
class Section:
    """The tokens for some numbers. `language` is a Windows code. `system` asks for the form that each
    computer has set: DATE, TIME or BOTH. `letters` are those that stand without quotes and mean nothing here.
    """

    tokens: list[Token] = field(default_factory=list)
    condition: tuple[Callable[[float, float], bool], float] | None = None
    language: str = ""
    system: str = ""
    letters: str = ""

    def has(self, *kinds: Kind) -> bool:
        return any(token.kind in kinds for token in self.tokens)

    @property
    def is_date(self) -> bool:
        return self.has(Kind.DATE, Kind.HALF_DAY, Kind.ELAPSED)


_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|_(?P<width>.)|\*(?P<fill>.)|\[(?P<bracket>[^\]]*)\]'
    r"|(?P<general>general)|(?P<half_day>am/pm|a/p)|(?P<exponent>e[+-])"
    r"|(?P<date>y+|m+|d+|h+|s+|e+)|(?P<digit>[0#?])|(?P<sign>[.,%/@;])|(?P<other>.)",
    re.IGNORECASE | re.DOTALL,
)
_SIGNS = {".": Kind.POINT, ",": Kind.COMMA, "%": Kind.PERCENT, "/": Kind.SLASH, "@": Kind.TEXT}
_WORDS = {
    "general": Kind.GENERAL,
    "half_day": Kind.HALF_DAY,
    "exponent": Kind.EXPONENT,
    "date": Kind.DATE,
    "digit": Kind.DIGIT,
}
_COLOUR = re.compile(r"black|blue|cyan|green|magenta|red|white|yellow|colou?r ?[0-9]{1,2}", re.IGNORECASE)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=) *(-?[0-9]+(?:\.[0-9]+)?(?:E[+-]?[0-9]+)?)", re.IGNORECASE)
_CURRENCY = re.compile(r"\$(?P<sign>[^-]*)(?:-(?P<language>.*))?", re.DOTALL)
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_HEX = re.compile(r"[0-9a-f]{1,8}")
_COMPARE = {"<=": le, ">=": ge, "<>": ne, "<": lt, ">": gt, "=": eq}
DATE, TIME, BOTH = "date", "time", "both"
_SYSTEM = {"f800": DATE, "x-sysdate": DATE, "f400": TIME, "x-systime": TIME}
# Letters that mean eras, other calendars or other digits. Elsewhere they are part of a word such as kg.
_OTHER_CALENDARS = frozenset("abgnr")
# A date in the letters of another language, such as TT.MM.JJJJ, which only a program writes.
_LOCAL_DATE = re.compile(r"([^\W\d_])\1|j|u")
_DECIMAL_COMMA = re.compile(r"[0#?],0{1,2}\Z")  # 0,00 would group digits, and is meant as 0.00
_NO_LANGUAGE = frozenset({0x0, 0x10000, 0x1000000, 0x1010000})  # the computer's, with digits from 0 to 9
_INCOMPLETE = frozenset('"[\\_*')


def parse(code: str) -> Sequence[Section] | None:
    """Return the sections of a format; None if it has signs that are not known here."""
    if len(code) > CODE_CHARACTERS_MAX:
        return None
    sections = [Section()]
    for found in _TOKEN.finditer(code):
        if found["sign"] == ";":
            sections.append(Section())
        elif not _add(sections[-1], found):
            return None
    if len(sections) > SECTIONS_MAX or any(map(_is_foreign, sections)):
        return None
    return sections


def _add(section: Section, found: re.Match[str]) -> bool:
    """Add a token to its section. Return whether it is known."""
    group = found.lastgroup or ""
    text = found[group]
    if group == "bracket":
        return _add_bracket(section, text)
    if group == "sign":
        section.tokens.append(Token(_SIGNS[text], text))
    elif group in _WORDS:
        section.tokens.append(Token(_WORDS[group], text if group == "half_day" else text.lower()))
    elif group == "width":
        section.tokens.append(Token(Kind.LITERAL, " "))
    elif group != "fill":
        section.tokens.append(Token(Kind.LITERAL, text))
        section.letters += text.lower() if group == "other" else ""
    return group != "other" or text not in _INCOMPLETE


def _add_bracket(section: Section, text: str) -> bool:
    if _COLOUR.fullmatch(text):
        return True
    if _ELAPSED.fullmatch(text):
        section.tokens.append(Token(Kind.ELAPSED, text.lower()))
        return True
    if (condition := _CONDITION.fullmatch(text)) is not None:
        section.condition = (_COMPARE[condition[1]], float(condition[2]))
        return True
    if (currency := _CURRENCY.fullmatch(text)) is None:
        return False
    if currency["sign"]:
        section.tokens.append(Token(Kind.LITERAL, currency["sign"]))
    language = (currency["language"] or "").lower()
    if (system := _SYSTEM.get(language)) is not None:
        section.system = BOTH if section.system else system
    elif not _HEX.fullmatch(language) or int(language, 16) not in _NO_LANGUAGE:
        section.language = section.language or language
    return True


def _is_foreign(section: Section) -> bool:
    """Return whether a section is for another calendar or other digits, or is written for another language
    than that of workbooks, which is English.
    """
    if _HEX.fullmatch(section.language) and int(section.language, 16) >> 24 > 1:
        return True
    if section.has(Kind.DIGIT):
        signs = (Kind.DIGIT, Kind.COMMA, Kind.POINT)
        return bool(
            _DECIMAL_COMMA.search("".join(each.text for each in section.tokens if each.kind in signs))
        )
    if section.is_date and _LOCAL_DATE.search(section.letters):
        return True
    return not _OTHER_CALENDARS.isdisjoint(section.letters)
