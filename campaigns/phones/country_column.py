"""The columns that name countries, told by their names."""

import re
from collections.abc import Sequence
from unicodedata import combining, normalize

_BETWEEN_WORDS = re.compile(r"[\W_]+")
# Names that hold one of these, those of the calling code first: they say where the phone belongs, and not
# where its owner lives.
_NAME_PARTS = """
    callingcode dialcode dialingcode diallingcode phonecode vorwahl phoneprefix phonecountry countrycode
    landercode landescode landkod landskod landcode landnummer indicatif prefijo prefisso prefixo codigopais
    codigodepais codigodopais codepays codicepaese kodkraju ulkekodu alankodu кодстраны 国家代码 国番号 国码
    country pais nation staat
"""
# Words that name such a column, alone or beside others, as in Land/Region.
_WORDS = """
    land lieferland pays paese nazione kraj ulke maa zeme страна країна χωρα ארץ البلد 国家 国 국가 cc ddi isd
    iso iso2 iso3 dial prefix prafix
"""


def country_like(header: Sequence[str]) -> int | None:
    """Return the index of the column that names countries, by its own name; None if none does."""
    names = [_key(name) for name in header]
    for part in _NAME_PARTS.split():
        if (found := next((at for at, name in enumerate(names) if part in name), None)) is not None:
            return found
    words = set(_WORDS.split())
    return next((at for at, name in enumerate(header) if not words.isdisjoint(_words(name))), None)


def _words(name: str) -> list[str]:
    return [_key(word) for word in _BETWEEN_WORDS.split(name)]


def _key(name: str) -> str:
    decomposed = normalize("NFKD", name.casefold())
    return "".join(character for character in decomposed if character.isalnum() and not combining(character))
