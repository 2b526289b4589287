"""The search for the language of a template that a person meant, such as `pt-br` for `pt_BR`."""

from collections.abc import Sequence


def find_language(written: str, languages: Sequence[str]) -> str | None:
    """Return the one of `languages` that `written` names; None if it names none of them, or several.

    Case does not count, and `-` counts as `_`. Without an exact match, a language alone finds its only
    regional form (`pt`: `pt_BR`), and a regional form finds the language alone (`en-GB`: `en`), but never
    another region.
    """
    by_key = {_key(language): language for language in languages}
    wanted = _key(written)
    if wanted in by_key:
        return by_key[wanted]
    language, _, region = wanted.partition("_")
    if region:
        return by_key.get(language)
    regional = [found for key, found in by_key.items() if key.startswith(f"{language}_")]
    return regional[0] if len(regional) == 1 else None


def _key(language: str) -> str:
    return language.strip().replace("-", "_").casefold()
