"""The encodings that a text may have, each with what it makes of the same cells, the likeliest first.

Libraries that detect encodings need a page of text: of ten names they take Turkish for Chinese. The letters
of a name say enough to order the candidates, and a person sees which one is right.
"""

import unicodedata
from collections.abc import Sequence
from itertools import filterfalse, pairwise
from typing import NamedTuple

SHOWN_MAX = 8
SAMPLE_CELLS_SHOWN = 3
CELL_CHARACTERS_SHOWN = 40
# In the order in which spreadsheets of the world write them; it decides among equals.
_CODECS = {
    "cp1252": "Western Europe",
    "cp1250": "Central Europe",
    "cp1254": "Turkish",
    "cp1251": "Cyrillic",
    "shift_jis": "Japanese",
    "gb18030": "Chinese, simplified",
    "big5": "Chinese, traditional",
    "cp949": "Korean",
    "cp1253": "Greek",
    "cp1255": "Hebrew",
    "cp1256": "Arabic",
    "cp1257": "Baltic",
    "cp1258": "Vietnamese",
    "cp874": "Thai",
    "macintosh": "Western Europe, Macintosh",
    "mac_latin2": "Central Europe, Macintosh",
    "mac_turkish": "Turkish, Macintosh",
    "mac_cyrillic": "Cyrillic, Macintosh",
    "mac_greek": "Greek, Macintosh",
    "iso8859-2": "Central Europe, ISO",
    "koi8-r": "Russian, KOI8",
    "koi8-u": "Ukrainian, KOI8",
    "cp850": "Western Europe, DOS",
    "cp852": "Central Europe, DOS",
    "cp866": "Cyrillic, DOS",
    "euc_jp": "Japanese, EUC",
}
# Costs of what names do not have.
_NO_LETTER, _MIXED_SCRIPTS, _CAPITAL_INSIDE, _ONLY_ACCENTS, _RARE = 3.0, 3.0, 2.0, 1.0, 0.5
_CODEC_OF = {"shift_jis": "cp932", "big5": "big5hkscs"}  # what programs mean by these names
# Kanji and kana stand in one word; so do a letter and the marks of any script.
_ONE_SCRIPT = {"HIRAGANA": "CJK", "KATAKANA": "CJK", "KATAKANA-HIRAGANA": "CJK", "IDEOGRAPHIC": "CJK"}
_NO_TEXT = {"Cc", "Cn", "Co"}  # categories of control characters, and of numbers without a character
_USUAL_SIGNS = set("\xa0’‘“”–—…«»°·")


class Candidate(NamedTuple):
    """An encoding, whom it is for, and the first cells as it reads them."""

    name: str
    says: str
    cells: tuple[str, ...]


def candidates(cells: Sequence[bytes]) -> list[Candidate]:
    """Return the encodings that can read all cells, the likeliest first, each result once."""
    by_reading: dict[tuple[str, ...], Candidate] = {}
    costs: dict[tuple[str, ...], float] = {}
    for name, says in _CODECS.items():
        try:
            reading = tuple(cell.decode(_CODEC_OF.get(name, name)) for cell in cells)
        except UnicodeDecodeError:
            continue
        if _NO_TEXT.isdisjoint(map(unicodedata.category, filterfalse(str.isascii, "".join(reading)))):
            by_reading.setdefault(reading, Candidate(name, says, _shown(reading)))
            costs.setdefault(reading, sum(map(_cost, reading)) / max(1, sum(map(len, reading))))
    return [by_reading[reading] for reading in sorted(by_reading, key=costs.__getitem__)][:SHOWN_MAX]


def _shown(reading: Sequence[str]) -> tuple[str, ...]:
    return tuple(" ".join(cell.split())[:CELL_CHARACTERS_SHOWN] for cell in reading[:SAMPLE_CELLS_SHOWN])


def _cost(cell: str) -> float:
    """Return how unlikely a cell is as a name."""
    cost = sum(map(_cost_of_letter, cell))
    for word in "".join(letter if letter.isalpha() else " " for letter in cell).split():
        scripts = {_script(letter) for letter in word}
        cost += _MIXED_SCRIPTS * (len(scripts) - 1)
        if scripts == {"LATIN"} and 2 * sum(map(str.isascii, word)) < len(word):
            cost += _ONLY_ACCENTS
        cost += _CAPITAL_INSIDE * sum(
            before.islower() and after.isupper() for before, after in pairwise(word)
        )
    return cost


def _cost_of_letter(letter: str) -> float:
    if letter.isascii() or letter in _USUAL_SIGNS:
        return 0.0
    if unicodedata.category(letter)[0] not in "LM":
        return _NO_LETTER
    return _RARE if _script(letter) == "CJK" and not _is_usual(letter) else 0.0


def _is_usual(letter: str) -> bool:
    """Return whether a Chinese character or kana is among the thousands that people use."""
    return any(_can_encode(letter, codec) for codec in ("gb2312", "shift_jis"))


def _can_encode(letter: str, codec: str) -> bool:
    try:
        # The first level of both standards has the usual characters; it ends at D7 and 97.
        return letter.encode(codec)[0] <= (0xD7 if codec == "gb2312" else 0x97)
    except UnicodeEncodeError:
        return False


def _script(letter: str) -> str:
    word = unicodedata.name(letter, "UNKNOWN").split()[0]
    return _ONE_SCRIPT.get(word, word)
