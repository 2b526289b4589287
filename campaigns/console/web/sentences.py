"""The sentences of errors and reasons in the reader's language.

The code writes them in English. The texts have the same sentences below [sentence], with {places} for what
differs. A sentence is found by its English form, so neither errors nor stored reasons need a key.
"""

from __future__ import annotations

import re
from datetime import datetime
from functools import cache, lru_cache

from markupsafe import Markup, escape

from drumbeat.campaigns.console.web.code_texts import FIRST_CODES
from drumbeat.campaigns.console.web.language import PageTexts, texts_of
from drumbeat.campaigns.reject import REASONS
from drumbeat.campaigns.texts import FIRST_LANGUAGE

SECTION = "sentence."
SENTENCE_CHARACTERS_MAX = 2000  # a longer text is no sentence of ours, and would cost time
FOUND_MAX = 4096  # texts of one page of recipients, many times over
_PLACE = re.compile(r"\{(\w+)\}")
_TIME = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:\d\d))")
_COMMAND = re.compile(r"`|(?<!\w)--[a-z]|DRUMBEAT_")
_OPTION = r"“[^”]+”|\w+"  # its label, or its key if no page has a field for it
# A place whose value has words of its own, and where they are.
_OF_PLACE = {"state": "state.", "event": "campaign.", "events": "campaign."}
_KEYS = {
    **{words: f"reject.{code}" for code, words in REASONS.items()},
    **{row.meaning: f"code_meaning.{code}" for row, code in FIRST_CODES.items()},
    **{row.remedy: f"code_remedy.{code}" for row, code in FIRST_CODES.items() if row.remedy},
}


def said(texts: PageTexts, text: str | None, *, whole: bool = False) -> Markup:
    """Return a sentence in the language of the page, and times on its clock. A sentence that is not known
    stays, and is marked as English. `whole`: it begins with a capital and ends with a point.
    """
    if not text:
        return Markup("")
    found = translated(texts.code, text)
    words = text if found is None else found
    shown = _with_times(texts, sentence(words) if whole else words)
    if found is None:
        return Markup('<span lang="{}">{}</span>').format(FIRST_LANGUAGE, shown)
    return shown


def sentence(text: str) -> str:
    """Return an error's text as a sentence of a page."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '?', '!')) else '.'}"


def remedy_said(texts: PageTexts, remedy: str, *, whole: bool = False) -> Markup:
    """Return a remedy in the language of the page. A command is no remedy for a person who reads a page."""
    is_known = texts.code != FIRST_LANGUAGE and translated(texts.code, remedy) is not None
    if not is_known and _COMMAND.search(remedy):
        return Markup("")
    return said(texts, remedy, whole=whole)


def _with_times(texts: PageTexts, text: str) -> Markup:
    parts = _TIME.split(text)
    return Markup("").join(
        escape(part) if no % 2 == 0 else texts.time(datetime.fromisoformat(part))
        for no, part in enumerate(parts)
    )


@lru_cache(maxsize=FOUND_MAX)
def translated(code: str, text: str) -> str | None:
    """Return the sentence in the language `code`; None if no such sentence is known."""
    if code == FIRST_LANGUAGE:
        return text
    texts = texts_of(code)
    if text in _KEYS:
        return texts(_KEYS[text])
    if len(text) > SENTENCE_CHARACTERS_MAX:
        return None
    for form, key in _forms():
        if (match := form.fullmatch(text)) is not None:
            values = {name: _value(texts, name, value) for name, value in match.groupdict().items()}
            return texts.words[key].format(**values)
    return None


def _value(texts: PageTexts, name: str, value: str) -> str:
    if name in _OF_PLACE:
        return ", ".join(texts.maybe(f"{_OF_PLACE[name]}{word}", word) for word in value.split(", "))
    return translated(texts.code, value) or value


@cache
def _forms() -> list[tuple[re.Pattern[str], str]]:
    """Return the English forms. The one with the most text of its own is the first."""
    words = texts_of(FIRST_LANGUAGE).words
    known = [(text, key) for key, text in words.items() if key.startswith(SECTION)]
    known.sort(key=lambda pair: -len(_PLACE.sub("", pair[0])))
    return [(_pattern(text), key) for text, key in known]


def _pattern(text: str) -> re.Pattern[str]:
    parts = _PLACE.split(text)
    written = [re.escape(part) if no % 2 == 0 else _group(part) for no, part in enumerate(parts)]
    return re.compile("".join(written), re.DOTALL)


def _group(name: str) -> str:
    return f"(?P<{name}>{_OPTION if name in ('option', 'other') else '.+?'})"
