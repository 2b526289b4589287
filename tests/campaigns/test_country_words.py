"""Countries as lists name them, and the kinds of phones as the library tells them."""

import phonenumbers
import pytest
from phonenumbers import PhoneNumberType

from drumbeat.campaigns.phones.country_column import country_like
from drumbeat.campaigns.phones.country_words import region_named
from drumbeat.campaigns.phones.kinds import kinds_of


@pytest.mark.parametrize(
    ("region", "words"),
    [
        (
            "US",
            "US us USA U.S.A. +1 1 001 1.0 +1-787 America United_States Vereinigte_Staaten 🇺🇸 US_(+1) +1_US "
            "ABD США SUA ΗΠΑ アメリカ",
        ),
        (
            "GB",
            "GB gbr UK England Great_Britain United_Kingdom Royaume-Uni +44 0044 (+44) 44.0 Großbritannien "
            "İngiltere Англия Anglia",
        ),
        ("DE", "DE DEU Germany Deutschland Allemagne Alemania Niemcy ドイツ 德国 Германия +49 DE_-_Germany"),
        ("CI", "CI CIV Ivory_Coast Côte_d'Ivoire Cote_d’Ivoire Elfenbeinküste +225"),
        ("CZ", "CZ Czechia Czech_Republic Česko Tschechien"),
        ("TR", "TR Turkey Türkiye Türkei 🇹🇷_Türkiye"),
        ("BA", "Bosnia_&_Herzegovina Bosnia_and_Herzegovina Bosnien_und_Herzegowina"),
        ("IN", "IN India भारत +91"),
        ("EG", "EG مصر Egypten"),
        ("XK", "XK Kosovo +383"),
        ("NL", "NL Holanda Hollande Голландия The_Netherlands"),
        ("BY", "BY Weißrussland Belarus"),
        ("KR", "Korea,_Republic_of Korea_(the_Republic_of) South_Korea"),
    ],
)
def test_a_country_is_known_by_its_codes_and_names(region: str, words: str) -> None:
    for word in words.split(" "):
        assert region_named(word.replace("_", " ")) == region, word


@pytest.mark.parametrize(
    "word", ["", " ", "Narnia", "n/a", "none", "276", "881", "Kongo", "US, DE", "Berlin", "12345", "x" * 500]
)
def test_anything_else_names_no_country(word: str) -> None:
    assert region_named(word) is None


@pytest.mark.parametrize(
    ("header", "found"),
    [
        ("phone,Country,Country Code", "Country Code"),
        ("Name,Land,Telefon", "Land"),
        ("País,celular", "País"),
        ("Ländervorwahl,Nummer", "Ländervorwahl"),
        ("phone,Default Address Country Code", "Default Address Country Code"),
        ("phone,Land/Region,name", "Land/Region"),
        ("phone,ülke kodu,ad", "ülke kodu"),
        ("phone,код страны", "код страны"),
        ("phone,dial", "dial"),
        ("phone,island,pay", None),
    ],
)
def test_a_column_of_countries_is_known_by_its_name(header: str, found: str | None) -> None:
    columns = header.split(",")
    at = country_like(columns)
    assert (None if at is None else columns[at]) == found


KINDS = {
    PhoneNumberType.MOBILE: "mobile",
    PhoneNumberType.FIXED_LINE_OR_MOBILE: "mobile",
    PhoneNumberType.FIXED_LINE: "landline",
    PhoneNumberType.TOLL_FREE: "toll-free",
    PhoneNumberType.PREMIUM_RATE: "premium",
}


@pytest.mark.parametrize("region", sorted(phonenumbers.SUPPORTED_REGIONS))
def test_kinds_are_those_of_the_library(region: str) -> None:
    for kind in PhoneNumberType.values():
        example = phonenumbers.example_number_for_type(region, kind)
        if example is not None and phonenumbers.is_valid_number(example):
            digits = phonenumbers.format_number(example, phonenumbers.PhoneNumberFormat.E164)[1:]
            assert kinds_of([digits]) == [KINDS.get(phonenumbers.number_type(example), "other")], digits


def test_satellite_phones_are_told_from_mobile_ones() -> None:
    phones = ["88160000000", "870773111632", "8821612345678", "8821312345678", "8835100", "80012345678"]
    satellite = "satellite"
    assert kinds_of(phones) == [satellite, satellite, satellite, satellite, "other", "toll-free"]
