"""The country that a cell names: by its ISO code of two or three letters, its calling code, its flag, or its
name in one of many languages.

The names are those of CLDR. English ones are read at once; those of the other languages take half a second,
so they are read once a word needs them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from unicodedata import combining, normalize

import phonenumbers
from babel import localedata
from babel.core import get_global
from phonenumbers import COUNTRY_CODE_TO_REGION_CODE

WORD_CHARACTERS_MAX = 80  # longer than any country's name with its codes
_ENGLISH = "en"
_LANGUAGE_CODES = """
    de fr es pt it nl pl tr ru uk ar fa he hi id ms vi th zh zh_Hant ja ko cs sk hu ro bg hr sr sr_Latn sl bs
    mk sq el sv da nb fi is et lv lt ca gl eu ga cy mt be kk uz az ka hy ur bn pa gu mr ta te kn ml si ne lo
    km my fil mn sw am so ha yo ig zu xh af
"""
# Names in use that CLDR does not have.
_OTHER_NAMES = {
    "AE": "UAE, Emirates, الإمارات, BAE, EAU, VAE",
    "AT": "Oesterreich",
    "BA": "Bosnia",
    "BN": "Brunei Darussalam",
    "BO": "Plurinational State of Bolivia",
    "BR": "Federative Republic of Brazil",
    "BY": "Weißrussland, Belorussia, Белоруссия",
    "CD": "DR Congo, DRC, Democratic Republic of the Congo, Congo Kinshasa, Congo DRC, Zaire",
    "CG": "Republic of the Congo, Congo Brazzaville",
    "CH": "SUI",
    "CI": "Ivory Coast, Cote Ivoire, Elfenbeinküste, Fildişi Sahili",
    "CN": "PRC, China Mainland, Mainland China, People's Republic of China",
    "CV": "Cape Verde",
    "CZ": "Czech Republic, Tschechische Republik, República Checa, Repubblica Ceca, République tchèque, "
    "Rép. tchèque, Çek Cumhuriyeti, Czech Rep.",
    "DE": "BRD, Federal Republic of Germany, GER",
    "DO": "Rep. Dominicana, Dominican Rep.",
    "ES": "Kingdom of Spain",
    "FK": "Falkland Islands (Malvinas)",
    "FM": "Micronesia, Federated States of Micronesia",
    "GB": "Great Britain, Britain, England, Scotland, Wales, Northern Ireland, Großbritannien, "
    "Angleterre, Inglaterra, Gran Bretaña, Inghilterra, Gran Bretagna, Engeland, United Kingdom of Great "
    "Britain and Northern Ireland, İngiltere, Англия, Англія, Anglia, Grande-Bretagne, Grã-Bretanha, Αγγλία",
    "GR": "Hellas",
    "HK": "Hong Kong, Hongkong",
    "IE": "Republic of Ireland",
    "IR": "Islamic Republic of Iran",
    "JP": "日本国",
    "KP": "DPRK, Democratic People's Republic of Korea",
    "KR": "Korea, Republic of Korea, Corea, Kore",
    "LA": "Lao PDR, Lao People's Democratic Republic",
    "MD": "Republic of Moldova",
    "MK": "Macedonia, the former Yugoslav Republic of Macedonia, FYROM",
    "MM": "Burma, Birma, Birmania, Birmanie",
    "MO": "Macau, Macao",
    "NL": "Holland, The Netherlands, Kingdom of the Netherlands, Holanda, Hollande, Olanda, Голландия, "
    "Ολλανδία, NED",
    "PS": "Palestine, State of Palestine",
    "RU": "Russian Federation, РФ, Российская Федерация",
    "SA": "KSA, السعودية",
    "SX": "Sint Maarten (Dutch part)",
    "SY": "Syrian Arab Republic",
    "SZ": "Swaziland",
    "TL": "East Timor",
    "TR": "Turkey, Tuerkei",
    "TT": "Trinidad",
    "TW": "Taiwan ROC, Taiwan Province of China, Chinese Taipei, 臺灣",
    "TZ": "United Republic of Tanzania",
    "US": "USA, U.S., U.S.A., United States of America, America, EEUU, EE.UU., États-Unis d'Amérique, EUA, "
    "Estados Unidos de América, ABD, SUA, VSA, США, САЩ, ΗΠΑ, أمريكا, アメリカ, 米国",
    "VA": "Holy See",
    "VE": "Bolivarian Republic of Venezuela",
    "VN": "Viet Nam",
    "ZA": "RSA",
}
_CALLING_CODE = re.compile(r"(?:\+|00)? *([1-9][0-9]{0,2})(?:[ -]?[0-9]{3})?(?:\.0)?")
_NORTH_AMERICA = "1"
_PARTS = re.compile(r"[()\[\]/,;:|]+|\s[-–—]+\s|\s(?=\+)|(?<=[0-9])\s+(?=[^\W\d_])")
_INVERTED = re.compile(r"\A([^,(]+?)(?:, *| *\()([^,()]+)\)?\Z")  # Korea, Republic of
_WORD = re.compile(r"(?:[^\W_]|[\u0900-\u109f\u1780-\u17ff])+")  # with the vowel signs of Indian scripts
_FLAG = re.compile("[\U0001f1e6-\U0001f1ff]{2}")
_FLAG_A = 0x1F1E6
_ACCENT_CLASS_MIN = (
    200  # marks above and below letters; vowel signs of Indian scripts are less, and are letters
)
_SAME_WORDS = {"and": "", "saint": "st", "the": ""}


@cache
def region_named(text: str) -> str | None:
    """Return the country of a word, by its two letters; None if it names none that has phone numbers."""
    word = normalize("NFKC", _FLAG.sub(_letters_of_flag, text[: WORD_CHARACTERS_MAX + 1])).strip(" ;")
    if not word or len(word) > WORD_CHARACTERS_MAX:
        return None
    found = _of_word(word) or _of_word(_INVERTED.sub(r"\2 \1", word))
    return found or _of_parts(_PARTS.split(word)) or _of_parts(word.split("-"))


def _of_parts(parts: list[str]) -> str | None:
    """Return the country that all parts name, as in `Germany (+49)` and `US-USA`."""
    regions = {_of_word(part.strip()) for part in parts if part.strip()}
    return regions.pop() if len(regions) == 1 else None


def _letters_of_flag(flag: re.Match[str]) -> str:
    return "".join(chr(ord("A") + ord(character) - _FLAG_A) for character in flag[0]) + ";"


def _of_word(word: str) -> str | None:
    if (code := _CALLING_CODE.fullmatch(word)) is not None:
        return _of_calling_code(code[1], word)
    if (region := _codes().get(word.replace(".", "").casefold())) is not None:
        return region
    key = _key(word)
    return _other_names().get(key) or _names(_ENGLISH).get(key) or _names(_LANGUAGE_CODES).get(key)


def _of_calling_code(code: str, word: str) -> str | None:
    has_area = len(re.sub(r"[^0-9]", "", word.removesuffix(".0")).removeprefix("00")) > len(code)
    if has_area and code != _NORTH_AMERICA:  # +1 787: only there does a country have an area code
        return None
    found = COUNTRY_CODE_TO_REGION_CODE.get(int(code), ("001",))[0]
    return None if found == "001" else found


@cache
def _codes() -> Mapping[str, str]:
    """Return the country of each code of two and of three letters."""
    found = {region.casefold(): region for region in phonenumbers.SUPPORTED_REGIONS}
    for alias, regions in get_global("territory_aliases").items():
        if len(alias) == 3 and alias.isalpha() and regions[0] in phonenumbers.SUPPORTED_REGIONS:
            found.setdefault(alias.casefold(), regions[0])
    return found | {"uk": "GB", "el": "GR"}


@cache
def _other_names() -> Mapping[str, str]:
    return {_key(name): region for region, names in _OTHER_NAMES.items() for name in names.split(",")}


@cache
def _names(languages: str) -> Mapping[str, str]:
    """Return the country of each name. A name that two countries share, as Kongo, stands for none."""
    found: dict[str, set[str]] = {}
    for key, region in _all_names(languages.split()):
        found.setdefault(key, set()).add(region)
    return {key: next(iter(regions)) for key, regions in found.items() if len(regions) == 1}


def _all_names(languages: Iterable[str]) -> Iterator[tuple[str, str]]:
    for language in languages:
        for region, name in localedata.load(language)["territories"].items():
            if isinstance(name, str) and region in phonenumbers.SUPPORTED_REGIONS:
                yield _key(name), region
                if "(" in name:  # Myanmar (Burma)
                    yield _key(name.partition("(")[0]), region


def _key(name: str) -> str:
    """Return a name in lower case, without accents, punctuation, spaces and words that may be left out."""
    decomposed = normalize("NFKD", name.casefold())
    letters = "".join(character for character in decomposed if combining(character) < _ACCENT_CLASS_MIN)
    words = _WORD.findall(letters.replace(".", ""))
    return "".join(_SAME_WORDS.get(word, word) for word in words)
