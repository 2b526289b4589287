"""The words of the pages in the reader's language."""

from __future__ import annotations

from functools import cache

from campaigns.texts import Texts, words_of

__all__ = ["COOKIE", "LANGUAGES", "Texts", "choose_language", "texts_of"]

LANGUAGES = ("en", "de")
COOKIE = "drumbeat_language"


@cache
def texts_of(code: str) -> Texts:
    return Texts(code, words_of("campaigns.results.texts", code) | words_of("campaigns.console.texts", code))


def choose_language(chosen: str | None, accepted: str) -> str:
    """The language that was chosen, else the first known one of the header Accept-Language, else English."""
    if chosen in LANGUAGES:
        return str(chosen)
    for part in accepted.split(","):
        code = part.split(";")[0].strip().lower()[:2]
        if code in LANGUAGES:
            return code
    return LANGUAGES[0]
