"""A phone is read in any spelling of the service; an id is no phone."""

import pytest

from drumbeat.engine.core.phone_digits import phone_digits, phones_named


@pytest.mark.parametrize(
    "text", ["14155550148", "+14155550148", "+1 415 555-0148", "0014155550148", " 1 (415) 555.0148"]
)
def test_every_spelling_is_one_phone(text: str) -> None:
    assert phone_digits(text) == "14155550148"


@pytest.mark.parametrize(
    "text", ["", "+", "US.1349120865530274", "120363025000000001", "++1415", "1415x", "٣٣", "0", "-5", "a1"]
)
def test_anything_else_is_none(text: str) -> None:
    assert phone_digits(text) is None
    assert phones_named(text) == ()


def test_a_phone_with_a_plus_has_both_aliases() -> None:
    assert phones_named("+5511987654321") == (5511987654321, 551187654321)
    assert phones_named(None) == ()
