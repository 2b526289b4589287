"""The columns that name countries, told by their names."""

from collections.abc import Sequence
from unicodedata import combining, normalize

# Names that hold one of these, those of the calling code first: they say where the phone belongs, and not
# where its owner lives.
_NAME_PARTS = """
    callingcode dialcode dialingcode diallingcode phonecode vorwahl phonecountry countrycode landercode
    landescode indicatif prefijo prefisso codigopais codepays country pais nation staat
"""
_WHOLE_NAMES = "land pays paese nazione kraj ulke maa zeme страна 国家 国 국가 cc ddi iso iso2 iso3"


def country_like(header: Sequence[str]) -> int | None:
    """Return the index of the column that names countries, by its own name; None if none does."""
    names = [_key(name) for name in header]
    for part in _NAME_PARTS.split():
        if (found := next((at for at, name in enumerate(names) if part in name), None)) is not None:
            return found
    return next((at for at, name in enumerate(names) if name in _WHOLE_NAMES.split()), None)


def _key(name: str) -> str:
    decomposed = normalize("NFKD", name.casefold())
    return "".join(character for character in decomposed if character.isalnum() and not combining(character))
