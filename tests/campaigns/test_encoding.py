"""Files in the usual encodings are read. Bytes that are no text are refused, with their position."""

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.campaigns.audience.open import encoding as encodings
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience, decode, detect

TEXT = "phone;name\r\n5511987654321;João Ação\r\n"


def read(content: bytes) -> tuple[str, str]:
    file = io.BytesIO(content)
    found = detect(file)
    return found.label, "".join(chunk.text for chunk in decode(file, found, "a.csv"))


@pytest.mark.parametrize(
    ("content", "label"),
    [
        (TEXT.encode("utf-8"), "UTF-8"),
        (TEXT.encode("utf-8-sig"), "UTF-8 with byte order mark"),
        (TEXT.encode("utf-16"), "UTF-16 LE"),
        (b"\xfe\xff" + TEXT.encode("utf-16-be"), "UTF-16 BE"),
        (TEXT.encode("utf-16-le"), "UTF-16 LE without byte order mark"),
        (TEXT.encode("utf-16-be"), "UTF-16 BE without byte order mark"),
        (TEXT.encode("cp1252"), "Windows-1252"),
        (b"\xff\xfe\0\0" + TEXT.encode("utf-32-le"), "UTF-32 LE"),
        (b"\0\0\xfe\xff" + TEXT.encode("utf-32-be"), "UTF-32 BE"),
        (b"phone\n1\n", "UTF-8"),
        (b"", "UTF-8"),
    ],
)
def test_each_encoding_is_seen_and_read(content: bytes, label: str) -> None:
    seen, text = read(content)

    assert seen == label
    assert text == (TEXT if len(content) > 20 else content.decode())


@pytest.mark.parametrize("codec", ["utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("name", ["Александра Константинопольская", "阿里巴巴网络技术有限公司阿里巴巴"])
def test_utf16_without_a_mark_is_seen_in_any_script(codec: str, name: str) -> None:
    text = "phone;name\r\n" + "".join(f"791612345{row};{name}\r\n" for row in range(10, 100))

    label, found = read(text.encode(codec))

    assert (label, found) == (f"UTF-16 {codec[-2:].upper()} without byte order mark", text)


def test_zeros_here_and_there_are_no_utf16() -> None:
    assert read(("phone;name\n" + "5511987654321;A\0na\n" * 50).encode())[0] == "UTF-8"


@pytest.mark.parametrize("chunk_bytes", [3, 7, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_the_line_of_a_bad_byte_is_right_whatever_ends_lines(
    end: str, chunk_bytes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encodings, "CHUNK_BYTES", chunk_bytes)
    content = "".join(f"{row};João Ação{end}" for row in range(9)).encode() + b"x;\xe3\xe3"

    with pytest.raises(UnreadableAudience, match="line 10, byte"):
        read(content)


def test_what_the_file_does_not_say_is_a_guess() -> None:
    guessed = {
        codec: detect(io.BytesIO(TEXT.encode(codec))).is_guess
        for codec in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "cp1252")
    }
    assert guessed == {"utf-8": False, "utf-8-sig": False, "utf-16": False, "utf-16-le": True, "cp1252": True}


def test_a_first_accent_after_a_megabyte_decides_all_the_same() -> None:
    plain = "5511987654321;Ana\n" * 100_000

    assert read((plain + "1;João\n").encode("cp1252")) == ("Windows-1252", plain + "1;João\n")
    assert read((plain + "1;João\n").encode())[0] == "UTF-8"


def test_a_letter_that_the_first_sample_cuts_is_read_whole() -> None:
    text = "a" * (encodings.SAMPLE_BYTES - 1) + "é\n"
    assert read(text.encode()) == ("UTF-8", text)


def test_what_looks_like_one_letter_of_utf8_among_others_that_do_not_makes_no_utf8() -> None:
    text = "Ã©\nJoão\nMarçal\n"
    assert read(text.encode("cp1252")) == ("Windows-1252", text)


def test_a_byte_order_mark_counts_where_a_byte_is_named() -> None:
    with pytest.raises(UnreadableAudience, match="line 2, byte 6"):
        read(b"\xef\xbb\xbfab\n\xff")


def test_a_damaged_utf8_file_is_not_taken_for_windows_1252() -> None:
    content = "João\nZoë\nMárcia\n".encode() + b"Jo\xe3o\n" + b"Ana\n"

    with pytest.raises(UnreadableAudience, match=r"e3.*line 4, byte 21"):
        read(content)


def test_a_byte_unknown_to_the_encoding_names_line_and_offset_beyond_the_first_chunk(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encodings, "CHUNK_BYTES", 7)
    content = "ação\n".encode() * 4 + b"ab\xffcd\n"

    with pytest.raises(UnreadableAudience, match=r"ff.*line 5, byte 30"):
        read(content)


def test_a_character_cut_by_the_end_of_the_file_is_refused() -> None:
    with pytest.raises(UnreadableAudience, match="line 2, byte 10"):
        read("ação ã\nã".encode()[:-1])


def test_half_a_code_unit_of_utf16_is_refused() -> None:
    with pytest.raises(UnreadableAudience, match="UTF-16 LE"):
        read(TEXT.encode("utf-16")[:-1])


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), st.integers(1, 16))
def test_text_in_utf8_survives_any_chunking(text: str, chunk_bytes: int) -> None:
    file = io.BytesIO(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encodings, "CHUNK_BYTES", chunk_bytes)
        pieces = [chunk.text for chunk in decode(file, encodings.UTF_8, "a.csv")]
    assert "".join(pieces) == text
