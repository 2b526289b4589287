"""Values that look broken: garbled letters, words for "no value", placeholders that nothing filled.

Law: a value is repaired only where the repair is certain, and only on request: somebody is called Null.
"""

import html
import re
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import NamedTuple

from drumbeat.campaigns.audience.check.cleaning import Column, Seen, column_of, seen_at
from drumbeat.campaigns.audience.check.link_value import (
    encoded,
    is_unencoded,
    repeats_beginning,
    without_beginning,
)

# What databases, programs and people write for "no value", and the dates that stand for none.
_WORDS = (
    *("null", "(null)", "[null]", "<null>", "\\n", "nan", "nat", "none", "nil", "undefined", "(undefined)"),
    *("n/a", "n.a.", "n. a.", "k.a.", "k. a.", "not available", "not provided", "unknown", "unbekannt"),
    *(
        "(blank)",
        "(empty)",
        "(none)",
        "(leer)",
        "-",
        "--",
        "---",
        "\u2013",
        "\u2014",
        ".",
        "..",
        "...",
        "?",
        "??",
    ),
    *("0000-00-00", "0000-00-00 00:00:00", "invalid date", "[object object]", "[object undefined]"),
)
EMPTY_WORDS = frozenset(
    {form for word in _WORDS for form in (word, word.upper(), word.capitalize(), word.title())}
    | {"NA", "<NA>", "NaN", "NaT", "[object Object]", "[object Undefined]"}  # NA alone is a name otherwise
)
_ENTITY = re.compile(r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6});")
_ENTITIES_MAX = 3  # an entity may be of an entity: &amp;amp;
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[A-Za-z]{2,}")
# Of message templates elsewhere. In one pair of brackets also people write something.
_PLACEHOLDER = re.compile(
    r"\{\{[^{}]*\}\}|\$\{[^{}]+\}|%{1,2}(?![0-9A-Fa-f]{2}%)[A-Za-z_][\w.-]*%{1,2}|\*\|[^|]+\|\*|\[\[[^\[\]]+\]\]|<<[^<>]+>>"
)
_WHOLE_PLACEHOLDER = re.compile(r"\{[A-Za-z_][\w .-]*\}|\[[A-Za-z_][\w .-]*\]|<[A-Za-z_][\w .-]*>|«[^«»]+»")
_CODE = re.compile(r"[A-Za-z0-9_-]+")
_PLACEHOLDER_SIGNS = ("{", "%", "*|", "[", "<", "«")
# A first letter of UTF-8 as code pages read it (Windows-1252 and its like, 1250, 1251, Macintosh, DOS),
# before what they read as its second byte. The pattern begins with one class: a whole column is searched
# several times as fast as with alternatives.
_GARBLED = re.compile(
    "[\xc2-\xf4\u0102\u0110\u0139\u0192\u0413-\u0415\u0420\u0421\u0432\u2013\u2014\u201a\u221a\u2248\u2500\u251c\u252c\u253c](?:"
    "(?<=[\xc2-\xf4])[\x80-\xbf\u011e\u011f\u0130\u0131\u0152\u0153\u015e-\u0161\u0178\u017d\u017e\u0192\u02c6\u02dc\u2013-\u2122]"
    "|(?<=[\u0102\u0139\u0110\xc4\xc2])[\xa0-\xbf\u0104\u0105\u013d\u013e\u0141\u0142\u015a-\u0165\u0179-\u017e\u02c7"
    "\u02d8-\u02dd\u2013-\u2122]"
    "|(?<=[\u0420\u0421])[\u0402\u0403\u0409-\u040f\u0452\u0453\u0459-\u045f\u0490\u0491\xa0-\xbb\u2013-\u2122]"
    "|(?<=[\u0413-\u0415\u0432])[\u0402\u0403\u0406-\u040f\u0452-\u045f\u0490\u0491\xa0-\xbb\u2013-\u2122]"
    "|(?<=[\u221a\u0192\u2248\u2013\u2014\u201a\u251c\u2500\u253c\u252c\xd0\xf0\xd5\xd4])[^\x00-\x7f])"
)

_CODE_PAGES = ("cp1252", "cp1250", "cp1251", "cp1254", "latin-1", "mac_roman", "cp850", "cp437")
_EUROPEAN = re.compile("[\xc0-\u017f\u0218-\u021b\u1e00-\u1eff\u2013-\u2026\u20ac]")


class Doubt(NamedTuple):
    """A kind of doubtful value. `may_have` looks at a whole column, `is_one` at a cell.
    `repair` is None if the values stay; `repaired_code` is the finding about repaired ones.
    """

    code: str
    may_have: Callable[[Column], bool]
    is_one: Callable[[str], bool]
    repair: Callable[[str], str] | None = None
    repaired_code: str = ""


def doubts_about(
    column: str, *, repairs: bool, empties: bool, beginnings: Sequence[str] | None, is_code: bool
) -> list[Doubt]:
    """Return what may be wrong with the values of a column.

    `repairs` and `empties` are the requests to repair what is certain, and to take words for "no value" as
    empty cells. `beginnings` are what templates have before the value in a link; None if it is in no link.
    `is_code` says that people copy the value.
    """
    emptied, repaired_word = (_emptied if empties else None), "word_emptied"
    doubts = [
        Doubt("mojibake", _may_be_garbled, _is_garbled, ungarbled if repairs else None, "mojibake_repaired"),
        Doubt("html_entity", _has("&"), _has_entity, unescaped if repairs else None, "html_repaired"),
        Doubt("empty_word", _has_words, EMPTY_WORDS.__contains__, emptied, repaired_word),
        Doubt("unfilled_placeholder", _has(*_PLACEHOLDER_SIGNS), _is_placeholder, emptied, repaired_word),
    ]
    if "mail" not in column.casefold():
        doubts.append(Doubt("email_as_value", _has("@"), _is_email))
    if beginnings is not None:
        doubts += _link_doubts(beginnings, repairs=repairs)
    if is_code:
        doubts.append(Doubt("code_characters", _always, lambda cell: _CODE.fullmatch(cell) is None))
    return doubts


def find_doubtful(column: Column, doubts: Sequence[Doubt]) -> tuple[Column, list[Seen]]:
    """Return the cells, repaired where a doubt says so, and what is doubtful in them."""
    seen: list[Seen] = []
    for doubt in doubts:
        if not doubt.may_have(column):
            continue
        cells = column.cells
        found = [at for at, cell in enumerate(cells) if doubt.is_one(cell)]
        if doubt.repair is not None and found:
            repaired = list(cells)
            for at in found:
                repaired[at] = doubt.repair(cells[at])
            done = [at for at in found if repaired[at] != cells[at]]
            found = [at for at in found if repaired[at] == cells[at]]
            seen += [seen_at(doubt.repaired_code, cells, done)] if done else []
            column = column_of(repaired)
        seen += [seen_at(doubt.code, cells, found)] if found else []
    return column, seen


def _link_doubts(beginnings: Sequence[str], *, repairs: bool) -> list[Doubt]:
    repeats = partial(repeats_beginning, beginnings=beginnings)
    without = partial(without_beginning, beginnings=beginnings)
    return [
        Doubt("url_beginning", _always, repeats, without if repairs else None, "url_repaired"),
        Doubt(
            "url_characters", _may_be_unencoded, is_unencoded, encoded if repairs else None, "url_repaired"
        ),
    ]


def _has(*signs: str) -> Callable[[Column], bool]:
    return lambda column: any(sign in column.text for sign in signs)


def _always(_: Column) -> bool:
    return True


def _has_words(column: Column) -> bool:
    return not EMPTY_WORDS.isdisjoint(column.cells)


def _may_be_garbled(column: Column) -> bool:
    return not column.text.isascii() and _GARBLED.search(column.text) is not None


def _may_be_unencoded(column: Column) -> bool:
    return any(map(is_unencoded, column.cells))


def _is_garbled(cell: str) -> bool:
    return _GARBLED.search(cell) is not None and ungarbled(cell) != cell


def _has_entity(cell: str) -> bool:
    return _ENTITY.search(cell) is not None and unescaped(cell) != cell


def _is_placeholder(cell: str) -> bool:
    if cell in EMPTY_WORDS:
        return False
    return _PLACEHOLDER.search(cell) is not None or _WHOLE_PLACEHOLDER.fullmatch(cell) is not None


def _is_email(cell: str) -> bool:
    return _EMAIL.fullmatch(cell) is not None


def _emptied(_: str) -> str:
    return ""


def unescaped(cell: str) -> str:
    """Return the text with the letters of its HTML entities."""
    for _ in range(_ENTITIES_MAX):
        if _ENTITY.search(cell) is None:
            break
        cell = _ENTITY.sub(lambda found: html.unescape(found[0]), cell)
    return cell


@cache
def _fix_encoding() -> Callable[[str], str]:
    """Return the repair of ftfy. It takes a tenth of a second to load, and most lists never need it."""
    from ftfy import fix_encoding

    return fix_encoding


def ungarbled(cell: str) -> str:
    """Return a text whose UTF-8 was read in a code page, as it was before."""
    if _GARBLED.search(cell) is None:
        return cell
    if (fixed := _fix_encoding()(cell)) != cell:
        return fixed
    # The library judges by sentences. A short name that is valid UTF-8 in a code page is garbled too.
    return next(filter(None, (_restored(cell, codec) for codec in _CODE_PAGES)), cell)


def _restored(cell: str, codec: str) -> str | None:
    """Return a text that was read in a code page; None if that is not certain.

    Two signs such as the end of CAFÉ® may be valid UTF-8 by chance. Those of several letters are not, and
    neither are those of a letter of Europe in a word.
    """
    try:
        text = cell.encode(codec).decode("utf-8")
    except UnicodeError:
        return None
    letters = [character for character in text if not character.isascii()]
    is_word = any(character.isascii() and character.isalpha() for character in text)
    return text if len(letters) > 1 or (is_word and _EUROPEAN.fullmatch(letters[0])) else None
