"""Texts of others move no cursor, colour nothing, and begin no line of their own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.sanitise import CONTROLS, sanitise


@pytest.mark.parametrize(
    ("text", "fit"),
    [
        ("a\x1b[2J\x1b]0;title\x07b", "a[2J]0;titleb"),
        ("a\x9b31mb\x7f\x00", "a31mb"),
        ("one\r\ntwo\tthree\u2028four", "one  two three four"),
        ("a\u202eb\u2066c", "abc"),
        ("Zoe\u0308 灯籠 עברית\u200f 👩\u200d🚀 ñ", "Zoe\u0308 灯籠 עברית\u200f 👩\u200d🚀 ñ"),
    ],
)
def test_controls_go_and_all_letters_stay(text: str, fit: str) -> None:
    assert sanitise(text) == fit


@given(st.text())
def test_sanitised_text_has_no_control_character(text: str) -> None:
    assert CONTROLS.isdisjoint(sanitise(text))
    assert sanitise(text) == text or not CONTROLS.isdisjoint(text)
