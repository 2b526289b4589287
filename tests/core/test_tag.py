"""Each tag has one spelling within 64 bytes. Any other text decodes to None."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.tag import (
    INT4_MAX,
    INT8_MAX,
    TAG_BYTES_MAX,
    Tag,
    TagEncoder,
    base36,
    decode,
    encode,
)

tags = st.builds(
    Tag,
    st.text("0123456789abcdefghijklmnopqrstuvwxyz", min_size=8, max_size=8),
    st.integers(1, INT8_MAX),
    st.integers(0, INT4_MAX),
    st.integers(1, INT4_MAX),
    st.integers(0, INT8_MAX),
)


@given(tags)
def test_a_tag_decodes_to_itself(tag: Tag) -> None:
    text = encode(tag)
    assert decode(text) == tag
    assert len(text.encode("ascii")) <= TAG_BYTES_MAX


def test_the_widest_tag_fits_exactly() -> None:
    assert len(encode(Tag("zzzzzzzz", INT8_MAX, INT4_MAX, INT4_MAX, INT8_MAX))) == TAG_BYTES_MAX


def test_the_form_of_a_tag() -> None:
    assert TagEncoder("abcd1234", 36**3 + 5, 7).encode(12, 3) == "abcd1234.1005.12.3.7"


@given(st.text())
def test_any_text_decodes_to_its_own_tag_or_to_none(text: str) -> None:
    tag = decode(text)
    assert tag is None or encode(tag) == text


@given(tags, st.integers(0, 63), st.characters())
def test_a_tag_has_no_second_spelling(tag: Tag, index: int, other: str) -> None:
    text = encode(tag)
    changed = text[:index] + other + text[index + 1 :]
    found = decode(changed)
    assert found is None or encode(found) == changed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "abcd1234",
        "abcd1234.1.2.1",
        "abcd1234.1.2.1.1.1",
        "abcd1234.0.2.1.1",
        "abcd1234.01.2.1.1",
        "abcd1234.1.02.1.1",
        "abcd1234.1.2.0.1",
        "abcd1234.1.-2.1.1",
        "abcd1234.1.+2.1.1",
        "abcd1234.1.2_0.1.1",
        "abcd1234.1.٢.1.1",
        "ABCD1234.1.2.1.1",
        "abcd123.1.2.1.1",
        "abcd1234.1.2.1.1\n",
        "abcd1234.zzzzzzzzzzzzz.2.1.1",
        "abcd1234.1.2147483648.1.1",
        "abcd1234.1.2.2147483648.1",
        "abcd1234.1.2.1.9223372036854775808",
    ],
)
def test_other_texts_are_no_tags(text: str) -> None:
    assert decode(text) is None


@pytest.mark.parametrize("value", [None, 7, b"abcd1234.1.2.1.1", ["abcd1234.1.2.1.1"]])
def test_a_value_that_is_not_a_text_is_no_tag(value: object) -> None:
    assert decode(value) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "tag",
    [
        Tag("short", 1, 1, 1, 1),
        Tag("abcd1234", 0, 1, 1, 1),
        Tag("abcd1234", INT8_MAX + 1, 1, 1, 1),
        Tag("abcd1234", 1, -1, 1, 1),
        Tag("abcd1234", 1, 1, 0, 1),
        Tag("abcd1234", 1, 1, 1, INT8_MAX + 1),
    ],
)
def test_a_tag_out_of_bounds_is_not_written(tag: Tag) -> None:
    with pytest.raises(ValueError, match=r"must be in|8 characters"):
        encode(tag)


@given(st.integers(0, INT8_MAX))
def test_base_36_can_be_read_back(number: int) -> None:
    assert int(base36(number), 36) == number
