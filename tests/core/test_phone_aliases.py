"""Two spellings of one number match; two numbers never do."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.phone_aliases import (
    CHANGES,
    Change,
    canonical_phone,
    canonical_phones,
    country_of_old,
    phone_aliases,
    today_form,
)

# An old number of each change, today's number, and the country.
RENUMBERED = [
    ("551187654321", "5511987654321", "BR"),
    ("5215512345678", "525512345678", "MX"),
    ("541123456789", "5491123456789", "AR"),
    ("22507000001", "2250707000001", "CI"),  # Orange
    ("22548123456", "2250748123456", "CI"),
    ("22545123456", "2250545123456", "CI"),  # MTN
    ("22541123456", "2250141123456", "CI"),  # Moov
    ("22520312345", "2252720312345", "CI"),  # fixed lines: Orange, MTN, Moov
    ("22520012345", "2252520012345", "CI"),
    ("22522812345", "2252122812345", "CI"),
    ("22997000000", "2290197000000", "BJ"),
    ("22921301234", "2290121301234", "BJ"),
    ("24106123456", "24166123456", "GA"),
    ("24107123456", "24177123456", "GA"),
    ("24101731234", "24111731234", "GA"),
    ("23779123456", "237679123456", "CM"),
    ("23799123456", "237699123456", "CM"),
    ("23722212345", "237222212345", "CM"),
    ("2307123456", "23057123456", "MU"),
    ("5712345678", "576012345678", "CO"),
    ("841208123456", "84708123456", "VN"),
    ("841218123456", "84798123456", "VN"),
    ("841228123456", "84778123456", "VN"),
    ("841238123456", "84838123456", "VN"),
    ("841278123456", "84818123456", "VN"),
    ("841298123456", "84828123456", "VN"),
    ("841631234567", "84331234567", "VN"),
    ("841868123456", "84568123456", "VN"),
    ("841998123456", "84598123456", "VN"),
]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5511987654321", "551187654321"),  # Brazil, mobile
        ("5215512345678", "525512345678"),  # Mexico
        ("5491123456789", "541123456789"),  # Argentina
    ],
)
def test_both_spellings_match(one: str, other: str) -> None:
    assert set(phone_aliases(one)) == set(phone_aliases(other)) == {int(one), int(other)}


@pytest.mark.parametrize(
    "sole",
    [
        "551133334444",
        "5511933334444",
        "5511877654321",
        "55119876543210",
        "4915112345678",
        "15551234567",
        "52551234567",
    ],
)
def test_others_have_one_spelling(sole: str) -> None:
    assert phone_aliases(sole) == (int(sole),)


@pytest.mark.parametrize("text", ["", "+5511", "55 11", "anonymous", "1" * 16, "٣٣"])
def test_what_is_no_number_has_none(text: str) -> None:
    assert phone_aliases(text) == ()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (541123456789, 5491123456789),  # Argentina
        (559999999999, 5599999999999),
        (551178654321, 5511978654321),  # Brazil, of the mobile numbers that are valid without their 9
    ],
)
def test_both_spellings_are_one_person(one: int, other: int) -> None:
    assert canonical_phone(one) == canonical_phone(other) == other


@pytest.mark.parametrize(("old", "today", "country"), RENUMBERED)
def test_an_old_number_and_its_new_one_are_one_person(old: str, today: str, country: str) -> None:
    assert phone_aliases(old) == (int(old), int(today))
    assert phone_aliases(today) == (int(today), int(old))
    assert canonical_phones([int(old), int(today)]) == [int(today)] * 2
    assert (today_form(old), today_form(today)) == (today, None)
    assert (country_of_old(old), country_of_old(today)) == (country, None)
    assert today_form(old, ()) is None


@pytest.mark.parametrize("change", CHANGES)
@given(data=st.data())
def test_each_change_leads_there_and_back(change: Change, data: st.DataObject) -> None:
    old = data.draw(st.from_regex(re.compile(change.old, re.ASCII), fullmatch=True))
    today = today_form(old)
    assert today is not None
    assert len(old) == change.old_digits
    assert phone_aliases(today)[1:] == (int(old),)
    assert canonical_phone(int(old)) == canonical_phone(int(today)) == int(today)


@pytest.mark.parametrize("sole", [551133334444, 5511987654321, 525512345678, 4915112345678, 15551234567])
def test_others_are_themselves(sole: int) -> None:
    assert canonical_phone(sole) == sole


@given(st.from_regex(r"(5[2457]|84|22[59]|230|237|241)[0-9]{6,12}", fullmatch=True))
def test_matching_is_mutual(digits: str) -> None:
    for other in phone_aliases(digits):
        assert int(digits) in phone_aliases(str(other))
