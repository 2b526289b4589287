"""Two spellings of one number match; two numbers never do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.phone_aliases import canonical_phone, phone_aliases


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


@pytest.mark.parametrize("sole", [551133334444, 5511987654321, 525512345678, 4915112345678, 15551234567])
def test_others_are_themselves(sole: int) -> None:
    assert canonical_phone(sole) == sole


@given(st.from_regex(r"(55|52|54)[0-9]{8,13}", fullmatch=True))
def test_matching_is_mutual(digits: str) -> None:
    for other in phone_aliases(digits):
        assert int(digits) in phone_aliases(str(other))
