"""Phones as people write them; the compiled patterns answer exactly as the library does."""

import random
import re

import phonenumbers
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from drumbeat.campaigns.phones.normaliser import Normaliser
from drumbeat.campaigns.phones.numbering_plan import INTERNATIONAL, Plains, known_region
from drumbeat.campaigns.phones.second_number import AREA_CODE_DIGITS_MAX, EXTENSION, TWO_NUMBERS
from drumbeat.campaigns.reject import REASONS
from drumbeat.engine.errors import UsageError

REGIONS = sorted(phonenumbers.SUPPORTED_REGIONS)
CODES = sorted(phonenumbers.COUNTRY_CODE_TO_REGION_CODE)


@pytest.mark.parametrize(
    ("text", "region", "expected"),
    [
        ("5511987654321", None, 5511987654321),
        ("+55 (11) 98765-4321", None, 5511987654321),
        ("+55 11 98765–4321", None, 5511987654321),  # en dash, as word processors write
        ("\u202a+55\u00a011\u00a098765\u20114321\u202c", None, 5511987654321),  # from a contact card
        ("00 55 11 98765 4321", None, 5511987654321),
        ("  5511987654321  ", None, 5511987654321),
        ("'5511987654321", None, 5511987654321),
        ('="5511987654321"', None, 5511987654321),
        ("5511987654321.0", None, 5511987654321),
        ("+44 (0)20 7183 8750", None, 442071838750),
        ("+39 06 698 1234", None, 39066981234),
        ("11987654321", "BR", 5511987654321),
        ("(11) 98765-4321", "br", 5511987654321),
        ("011 98765-4321", "BR", 5511987654321),
        ("5511987654321", "BR", 5511987654321),
        ("005511987654321", "BR", 5511987654321),
        ("0055119876543210", "BR", "phone_not_in_region"),
        ("14000000000.0", None, "phone_decimal"),
        ("14000000000.0", "DE", "phone_decimal"),
        ("14000000000", "DE", "phone_not_in_region"),
        ("+1 650 253 0000", "BR", 16502530000),
        ("030/901820", "DE", 4930901820),
        ("", None, "phone_empty"),
        (" \t", None, "phone_empty"),
        ("5,51199E+12", None, "phone_scientific"),
        ("5.51199e12", None, "phone_scientific"),
        ("5.511987654321E+12", None, 5511987654321),  # with all digits
        ("5,5119876543210e+12", None, 5511987654321),
        ("5.5119876543217E+12", None, "phone_scientific"),  # no whole number
        ("1.198765432E+10", "BR", "phone_scientific"),
        ("1.1987654321E+10", "BR", 5511987654321),
        ("-5.511987654321E+12", None, "phone_scientific"),
        ("call me", None, "phone_malformed"),
        ("5511987654321 ext 3", None, "phone_extension"),
        ("+", None, "phone_malformed"),
        ("--", None, "phone_malformed"),
        ("55+11987654321", None, "phone_malformed"),
        ("5511987654321\x00", None, "phone_malformed"),
        ("x" * 100_000, None, "phone_malformed"),
        ("9" * 100_000, None, "phone_too_long"),
        ("9" * 100_000, "BR", "phone_too_long"),
        ("119", None, "phone_too_short"),
        ("119", "BR", "phone_too_short"),
        ("431110", None, "phone_too_short"),  # a number of Austria by its metadata, and too short for ours
        ("+431110", None, "phone_too_short"),
        ("00800436689", "PA", "phone_not_in_region"),  # an exit code, whatever it would be without it
        ("11987654321", None, "phone_invalid"),
        ("5511111", None, "phone_invalid"),
        ("0000000000", None, "phone_invalid"),
        ("٥٥١١٩٨٧٦٥٤٣٢١", None, 5511987654321),
        ("551198765432\u0661", None, 5511987654321),  # begins in ASCII, ends in an Arabic digit
        ("\uff0b５５\u3000（１１）９８７６５－４３２１", None, 5511987654321),
        ("۱۱۹۸۷۶۵۴۳۲۱", "BR", 5511987654321),
        ("5511987654321²", None, "phone_malformed"),  # a note, not a digit
        ("(+55) 11 98765-4321", None, 5511987654321),
        ("\u2068+5511987654321\u2069", None, 5511987654321),
        ("5511\u206098765\u20604321", None, 5511987654321),
        ("(55+11987654321", None, "phone_malformed"),
        ("0115511987654321", "US", 5511987654321),  # dialled out of a region by its own exit code
    ],
)
def test_each_way_of_writing(text: str, region: str | None, expected: int | str) -> None:
    assert Normaliser(region).normalise(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("030 23125001/02", "phone_two_numbers"),
        ("+49 30 23125001/02", "phone_two_numbers"),
        ("030 23125003/4", "phone_two_numbers"),
        ("0171 1234567/68", "phone_two_numbers"),
        ("030/23125001/02", "phone_two_numbers"),
        ("030 23125001／02", "phone_two_numbers"),
        ("030 23125001\t02", "phone_two_numbers"),
        ("030 23125001\\02", "phone_two_numbers"),
        ("030 23125001; 02", "phone_two_numbers"),
        ("030 23125001, 23125002", "phone_two_numbers"),
        ("030 23125001 oder 02", "phone_two_numbers"),
        ("030 12345 or 12346", "phone_two_numbers"),
        ("+14155550107 / +14155550108", "phone_two_numbers"),
        ("+4930231250 +4930231251", "phone_two_numbers"),
        ("4930231250 01 4930231250 02", "phone_two_numbers"),
        ("+49 30 23125007\n+49 30 23125008", "phone_two_numbers"),
        ("030 23125001 priv. 030 23125002", "phone_two_numbers"),
        *((f"030 12345{between}030 12346", "phone_two_numbers") for between in (" - ", "-", " ", ".", " – ")),
        ("+49 30 12345 - 030 12346", "phone_two_numbers"),
        ("030 12345-06", 49301234506),
        ("030 23125001 (02)", "phone_extension"),
        ("+1 (415) 555-0104 x123", "phone_extension"),
        ("+1 415 555 0105 ext. 5", "phone_extension"),
        ("+1 415 555 0106;ext=7", "phone_extension"),
        ("030 23125001 Durchwahl 5", "phone_extension"),
        ("030 23125001 #5", "phone_extension"),
        ("030/23125009", 493023125009),
        ("033203/12345", 493320312345),  # an area code of five digits
        ("+49/30/23125009", 493023125009),
        ("030/231/25009", 493023125009),
        ("030 / 231 250-09", 493023125009),
        ("030.231.250.09", 493023125009),
        ("0171-1234567", 491711234567),
        ("+49 (0)30 23125009", 493023125009),
        ("(030) 23125009", 493023125009),
        ("+1 (415) 555-0101", 14155550101),
        ("+33 1/23/45/67/89", 33123456789),
        ("030 23125009 (mobile)", 493023125009),
        ("/" * 40 + "030/" * 6, "phone_two_numbers"),  # many separators take no time
    ],
)
def test_two_numbers_and_extensions_are_never_joined_to_one(text: str, expected: int | str) -> None:
    assert Normaliser("DE").normalise(text) == expected
    assert Normaliser("DE", ("BR",)).normalise(text) == expected


def test_a_second_ending_is_found_after_a_number_that_is_repaired() -> None:
    assert Normaliser(None, ("BR",)).normalise("+55 11 9765-4321/2") == "phone_two_numbers"


@pytest.mark.parametrize(
    ("text", "region", "country", "expected"),
    [
        ("+55 11 8765-4321", None, "BR", 5511987654321),
        ("11 8765-4321", "BR", "br", 5511987654321),
        ("+55 11 98765-4321", None, "BR", 5511987654321),
        ("+55 11 3765-4321", None, "BR", 551137654321),  # a landline
        ("+52 1 55 1234 5678", None, "MX", 525512345678),
        ("+52 55 1234 5678", None, "MX", 525512345678),
        ("+54 11 2345-6789", None, "AR", 5491123456789),
        ("11 2345-6789", "AR", "AR", 5491123456789),
        ("+54 9 11 2345-6789", None, "AR", 5491123456789),
        ("+49 30 901820", None, "AR", 4930901820),
        ("+55 11 8765", None, "BR", "phone_invalid"),
        ("+225 07 00 00 01", None, "CI", 2250707000001),
        ("07 00 00 01", "CI", "CI", 2250707000001),
        ("+229 97 00 00 00", None, "bj", 2290197000000),
        ("22997000000", None, "BJ", 2290197000000),
        ("+241 06 12 34 56", None, "GA", 24166123456),
        ("+237 7912 3456", None, "CM", 237679123456),
        ("+230 712 3456", None, "MU", 23057123456),
        ("+57 1 234 5678", None, "CO", 576012345678),
        ("571 234 5678", None, "CO", "phone_invalid"),  # rather of Virginia
        ("0163 123 4567", "VN", "VN", 84331234567),
        ("+84 163 123 4567 / 68", None, "VN", "phone_two_numbers"),
        ("+64 9 765 4321", "BR", "BR", 6497654321),  # New Zealand, and with 55 in front a Brazilian mobile
        ("+64 97 654 321 0", "BR", "BR", "phone_not_in_region"),
        ("call me", "BR", "BR", "phone_malformed"),
    ],
)
def test_old_numbers_are_repaired_if_asked_for(
    text: str, region: str | None, country: str, expected: int | str
) -> None:
    assert Normaliser(region, (country,)).normalise(text) == expected


@pytest.mark.parametrize(
    ("text", "region", "code"),
    [
        ("+225 07 00 00 01", None, "phone_old_ci"),
        ("00225 45 12 34 56", None, "phone_old_ci"),
        ("07 00 00 01", "CI", "phone_old_ci"),
        ("22507000001", None, "phone_old_ci"),
        ("+229 97 00 00 00", "DE", "phone_old_bj"),
        ("+52 1 55 1234 5678", None, "phone_old_mx"),
        ("11 8765-4321", "BR", "phone_old_br"),
        ("+237 7912 3456", None, "phone_old_cm"),
        ("tel:+84 163 123 4567", None, "phone_old_vn"),
        ("571 234 5678", None, "phone_invalid"),
    ],
)
def test_an_old_number_is_refused_with_the_change(text: str, region: str | None, code: str) -> None:
    assert Normaliser(region).normalise(text) == code
    assert "old form" in REASONS[code] or code == "phone_invalid"


@pytest.mark.parametrize(
    ("text", "region", "expected"),
    [
        ("tel:+14155550101", None, 14155550101),
        ("tel:+1-415-555-0102", None, 14155550102),
        ("TEL: (415) 555-0103", "US", 14155550103),
        ("whatsapp:+14155550113", None, 14155550113),
        ("p:+14155550128", None, 14155550128),
        ("Mobil: 0171 3920000", "DE", 491713920000),
        ("móvil +34 612 345 678", None, 34612345678),
        ("+1 415 555 0101 - work", None, 14155550101),
        ("+14155550111 (mobile)", None, 14155550111),
        ("(WhatsApp) +1 415 555 0112", None, 14155550112),
        ("携帯 +81 90 1234 5678", None, 819012345678),
        ("☎ +1 415 555 0114", None, 14155550114),
        ("https://wa.me/14155550121", "DE", 14155550121),
        ("wa.me/+14155550122?text=hello", None, 14155550122),
        ("https://api.whatsapp.com/send?phone=14155550123&text=Hi%20there", None, 14155550123),
        ("https://api.whatsapp.com/send/?text=x&phone=%2B14155550124", None, 14155550124),
        ("whatsapp://send?phone=14155550125", None, 14155550125),
        ("14155550122@c.us", "DE", 14155550122),
        ("14155550123:12@s.whatsapp.net", None, 14155550123),
        ("++14155550117", None, 14155550117),
        ("+0014155550118", None, 14155550118),
        ("+34 (0)912 345 678", None, 34912345678),  # Spain dials no 0 at home
        ("011 1 415 555 0120", None, 14155550120),
        ("011 44 20 7946 0958", "US", 442079460958),
        ("0011 61 412 345 678", None, 61412345678),
        ("011 98765-4321", "BR", 5511987654321),  # an area code
        ("https://wa.me/message/ABC2DEF3", None, "phone_link"),
        ("https://shop.example/p/14155550121", None, "phone_link"),
        ("fax: +14155550101", None, "phone_label"),
        ("not +14155550101", None, "phone_label"),
        ("Ada +14155550101", None, "phone_label"),
        ("+1 415 555 O126", None, "phone_letters"),
        ("+l 415 555 0126", None, "phone_letters"),
        ("1-800-FLOWERS", None, "phone_letters"),
        ("US.1349120865530274", None, "phone_user_id"),
        ("BR.ENT.98765432109876", "BR", "phone_user_id"),
        ("120363025000000001@g.us", None, "phone_user_id"),
        ("98765432109876@lid", None, "phone_user_id"),
        ("@ben.lake", None, "phone_username"),
        ("@14155550101", None, "phone_username"),
        ("ada@mail.example", None, "phone_email"),
        ("+12125550162 ::: +12125550163", None, "phone_two_numbers"),
        ("415-555-0107 / 415-555-0108", None, "phone_two_numbers"),
        ("415-555-0107; 415-555-0108", None, "phone_two_numbers"),
        ("work: +14155550107, home: +14155550108", None, "phone_two_numbers"),
        ("tel:+14155550101;ext=5", None, "phone_extension"),
    ],
)
def test_what_stands_around_a_number_is_taken_off_or_named(
    text: str, region: str | None, expected: int | str
) -> None:
    found = Normaliser(region).normalise(text)
    assert found == expected
    assert isinstance(found, int) or found in REASONS


@pytest.mark.parametrize(
    ("text", "region", "expected"),
    [
        ("+12125550162 ::: +12125550163", None, 12125550162),
        ("030 23125003/4", "DE", 493023125003),
        ("+49 30 23125005 / 23125006", None, 493023125005),
        ("work: +14155550107, home: +14155550108", None, 14155550107),
        ("415-555-0107 / 415-555-0108", "US", 14155550107),
        ("415-555-0107 / 415-555-0108", None, "phone_invalid"),
        ("030 12345 - 030 12346", "DE", 493012345),
        ("+1 (415) 555-0104 x123", None, "phone_extension"),
        ("+14155550101", None, 14155550101),
    ],
)
def test_the_first_of_two_numbers_is_taken_if_asked_for(
    text: str, region: str | None, expected: int | str
) -> None:
    assert Normaliser(region, first_number=True).normalise(text) == expected


@given(st.integers(10**6, 10**15 - 1), st.sampled_from([None, "001", "BR", "US", "DE", "CI"]))
def test_a_read_phone_reads_as_itself(number: int, region: str | None) -> None:
    found = Normaliser(region).normalise(str(number))
    if isinstance(found, int):
        for text in (f"+{found}", f"00{found}", f"tel:+{found}", f"wa.me/{found}", f"{found}@c.us"):
            assert Normaliser(region).normalise(text) == found


def test_a_country_without_a_repair_is_refused() -> None:
    with pytest.raises(UsageError, match="BR, MX, AR, CI, BJ"):
        Normaliser(None, ("DE",))


@pytest.mark.parametrize(
    ("plains", "digits"),
    [
        (INTERNATIONAL, "5511987654321"),
        (known_region("BR").plain, "5511987654321"),
        (known_region("BR").plain, "11987654321"),
    ],
)
def test_plain_digits_go_the_short_way(plains: Plains, digits: str) -> None:
    plain = plains[len(digits)][digits[:3]]
    assert plain is not None
    fullmatch, before = plain
    assert fullmatch(digits) is not None
    assert before + digits == "5511987654321"


def test_whatever_is_asked_for_short_ways_are_kept_for_digits_alone() -> None:
    plains = Plains(lambda head, length: None)
    for text in (*(chr(0x4E00 + number) + "12345" for number in range(2_000)), "9" * 1_000, "", "12"):
        assert plains[len(text)][text[:3]] is None
    assert sum(map(len, plains.values())) == 1, "the digits that no number is as long as"


def test_an_unknown_region_is_refused() -> None:
    with pytest.raises(UsageError, match="XX"):
        Normaliser("XX")


def library(text: str, region: str | None) -> int | None:
    """The result of the library: parsed, valid, in digits."""
    try:
        number = phonenumbers.parse(text, region)
    except phonenumbers.NumberParseException:
        return None
    if not phonenumbers.is_valid_number(number):
        return None
    return int(phonenumbers.format_number(number, phonenumbers.PhoneNumberFormat.E164)[1:])


def ours(digits: str, region: str | None = None) -> int | None:
    found = Normaliser(region).normalise(digits)
    return found if isinstance(found, int) else None


def examples(region: str) -> list[str]:
    """National digits of each kind that the metadata shows for a region."""
    metadata = phonenumbers.PhoneMetadata.metadata_for_region(region, None)
    assert metadata is not None
    kinds = ("mobile", "fixed_line", "toll_free", "premium_rate", "voip", "shared_cost", "pager", "uan")
    found = [getattr(getattr(metadata, kind), "example_number", None) for kind in kinds]
    return [example for example in found if example]


def neighbours(digits: str, chance: random.Random) -> list[str]:
    """Numbers near a valid one, on both sides of every rule: changed, longer, shorter, prefixed digits."""
    place = chance.randrange(len(digits))
    changed = digits[:place] + str(chance.randrange(10)) + digits[place + 1 :]
    tail = digits[:2] + "".join(str(chance.randrange(10)) for _ in digits[2:])
    prefixed = [str(chance.randrange(10)) + digits, "0" + digits, "1" + digits, "8" + digits]
    return [digits, changed, tail, digits[:-1], digits + str(chance.randrange(10)), *prefixed]


@pytest.mark.parametrize("region", REGIONS)
def test_international_digits_of_every_region_agree_with_the_library(region: str) -> None:
    chance = random.Random(region)
    code = str(phonenumbers.country_code_for_region(region))
    for example in examples(region):
        for national in neighbours(example, chance):
            digits = code + national
            if len(digits) >= 7:
                assert ours(digits) == library("+" + digits, None), digits


@pytest.mark.parametrize("region", REGIONS)
def test_national_digits_of_every_region_agree_with_the_library(region: str) -> None:
    chance = random.Random(region)
    code = str(phonenumbers.country_code_for_region(region))
    for example in examples(region):
        for national in neighbours(example, chance):
            for digits in (national, code + national):
                if not digits.startswith("00"):
                    reference = library(digits, region) or (
                        library("+" + digits, None) if len(digits) > 6 else None
                    )
                    assert ours(digits, region) == reference, digits


@pytest.mark.parametrize("region", REGIONS)
def test_what_follows_a_number_of_any_region_is_never_swallowed(region: str) -> None:
    chance = random.Random(region)
    code = phonenumbers.country_code_for_region(region)
    normalise = Normaliser(region).normalise
    for example in examples(region):
        number = ours(f"{code}{example}")
        if number is None or len(example) <= AREA_CODE_DIGITS_MAX:
            continue
        assert normalise(f"+{code}/{example}") == number
        for between in ("/", " / ", ";", ",", "\n", "\t", " or ", " oder ", " x", " ext. ", " (", "#"):
            ending = str(chance.randrange(10 ** chance.randint(1, 9)))
            assert normalise(f"+{code} {example}{between}{ending}") in (EXTENSION, TWO_NUMBERS)


@pytest.mark.parametrize("region", REGIONS)
def test_numbers_as_every_region_writes_them_stay_one_number(region: str) -> None:
    for example in examples(region):
        parsed = phonenumbers.parse(example, region)
        written = [
            phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.NATIONAL),
            phonenumbers.format_number(parsed, phonenumbers.PhoneNumberFormat.INTERNATIONAL),
        ]
        for text in (*written, *(each.replace(" ", "/", 1) for each in written)):
            assert Normaliser(region).normalise(text) not in (EXTENSION, TWO_NUMBERS), text


@pytest.mark.parametrize(
    "digits",
    [
        "3758107705795",  # valid as it stands, and still the library takes a national prefix off
        "434351160291193",  # fits the pattern of a kind, not the general one
        "4949791749320",
    ],
)
def test_rules_that_few_numbers_meet_agree_with_the_library(digits: str) -> None:
    assert ours(digits) == library("+" + digits, None)


@settings(max_examples=300)
@given(st.sampled_from(CODES), st.from_regex(re.compile("[0-9]{4,13}", re.ASCII), fullmatch=True))
def test_any_digits_agree_with_the_library(code: int, national: str) -> None:
    digits = f"{code}{national}"
    if len(digits) >= 7:
        assert ours(digits) == library("+" + digits, None)


@settings(max_examples=300)
@given(st.sampled_from(REGIONS), st.from_regex(re.compile("[1-9][0-9]{6,14}", re.ASCII), fullmatch=True))
def test_any_digits_in_a_region_agree_with_the_library(region: str, digits: str) -> None:
    assert ours(digits, region) == (library(digits, region) or library("+" + digits, None))


@given(st.text(max_size=80), st.sampled_from([None, "BR", "US", "DE"]))
def test_any_text_gets_an_answer(text: str, region: str | None) -> None:
    found = Normaliser(region).normalise(text)
    assert isinstance(found, int) or found.startswith("phone_")
