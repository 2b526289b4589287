"""The language that a cell names in words: `Englisch`, `english`, `português`, or a code of three letters."""

from collections.abc import Sequence
from functools import lru_cache
from unicodedata import normalize

from babel import Locale, UnknownLocaleError
from babel.core import get_global

from drumbeat.engine.core.template.language import find_language

# The languages in which names are known, beside each language's own name for itself.
NAMED_IN = ("en", "de", "es", "fr", "it", "nl", "pl", "pt", "tr", "ru", "uk", "ar", "hi", "id", "zh", "ja")


def find_meant_language(written: str, languages: Sequence[str]) -> str | None:
    """Return the one of `languages` that `written` names by code or by word; None for none or several."""
    if (found := find_language(written, languages)) is not None:
        return found
    key = _key(written)
    if (alias := get_global("language_aliases").get(key)) is not None:
        return find_language(alias, languages)
    by_region = [language for language in languages if key in _names(language, is_exact=True)]
    named = by_region or [language for language in languages if key in _names(language, is_exact=False)]
    return named[0] if len(named) == 1 else None


@lru_cache(64)
def _names(language: str, *, is_exact: bool) -> frozenset[str]:
    """Return the names of a language, with its region if it has one and `is_exact`."""
    code = language if is_exact else language.partition("_")[0]
    locales = map(_locale, (*NAMED_IN, language.partition("_")[0]))
    names = [locale.languages.get(code, "") for locale in locales if locale is not None]
    return frozenset(_key(name) for name in names if name)


def _locale(code: str) -> Locale | None:
    try:
        return Locale.parse(code)
    except (UnknownLocaleError, ValueError):
        return None


def _key(name: str) -> str:
    return normalize("NFC", name.strip()).casefold()
