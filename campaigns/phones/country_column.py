"""The columns that name countries, told by their names."""

import re
from collections.abc import Sequence
from unicodedata import combining, normalize

# Names that hold one of these, those of the calling code first: they say where the phone belongs, and not where
# its owner lives.
_PARTS = (
    *("callingcode", "dialcode", "dialingcode", "diallingcode", "phonecode", "vorwahl", "phonecountry"),
    *("countrycode", "landercode", "landescode", "indicatif", "prefijo", "prefisso", "codigopais", "codepays"),
    *("country", "pais", "nation", "staat"),
)
_WHOLE = ("land", "pays", "paese", "nazione", "kraj", "ulke", "maa", "zeme", "страна", "国家", "国", "국가", "cc", "ddi", "iso")


def country_like(header: Sequence[str]) -> int | None:
    """Return the index of the column whose name most likely says that it names countries; None if none does."""
    names = [_key(name) for name in header]
    for part in _PARTS:
        if (found := next((at for at, name in enumerate(names) if part in name), None)) is not None:
            return found
    return next((at for at, name in enumerate(names) if name in _WHOLE or re.fullmatch("iso[23]", name)), None)


def _key(name: str) -> str:
    decomposed = normalize("NFKD", name.casefold())
    return "".join(character for character in decomposed if character.isalnum() and not combining(character))
