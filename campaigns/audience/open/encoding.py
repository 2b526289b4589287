"""The detection of an audience file's encoding from a sample, and the strict decoding that follows.

The sample begins at the first byte that is not ASCII, wherever it is, so the first accent may come after a
million rows. If the guess is wrong, the first byte that does not fit stops the reading; the error names its
line and offset.

Law: a file that is not UTF-8 and has no mark may be in any of a dozen encodings, and each makes other letters
of its bytes. A person says which (`encoding_question`); until then the text only holds the bytes.
"""

import codecs
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple

from drumbeat.engine.errors import ConfigurationError, UsageError

CHUNK_BYTES = 1 << 20
SAMPLE_BYTES = 1 << 16

# In UTF-16, digits, separators and line ends have one zero byte, always on the same side, whatever script the
# names use. UTF-8 has at most a few stray ones.
_ZERO_SHARE_MIN, _ZERO_SHARE_MAX = 0.15, 0.02
_ASCII = bytes(range(128))
# Codecs of Python for other uses than files.
_NO_ENCODINGS = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape", "mbcs", "oem"}
# Source: the Encoding Standard, https://encoding.spec.whatwg.org/#names-and-labels.
_SUPERSETS = {
    **dict.fromkeys(("ascii", "iso8859-1"), "cp1252"),
    "iso8859-9": "cp1254",
    **dict.fromkeys(("iso8859-11", "tis-620"), "cp874"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    "euc_kr": "cp949",
    "shift_jis": "cp932",
    "big5": "big5hkscs",
}


@dataclass(frozen=True, slots=True)
class Encoding:
    """The encoding of a text. `codec` is Python's name for it, `bom_bytes` are skipped at the start, and
    `label` is for messages.

    `is_guess` says that the file does not name its encoding. `asks` says that others would decode it to other
    letters, so that a person must choose. `errors` is what the codec does with bytes that are not valid.
    """

    codec: str
    bom_bytes: int
    label: str
    is_guess: bool = False
    asks: bool = False
    errors: str = "strict"


class TextChunk(NamedTuple):
    """A part of a file's text; `read_bytes` of the file were read so far."""

    text: str
    read_bytes: int


_KEEP_BYTES = "drumbeat.keep_bytes"  # reads a byte without a letter as the control character of its number
UTF_8 = Encoding("utf-8", 0, "UTF-8")
WINDOWS_1252 = Encoding("cp1252", 0, "Windows-1252", is_guess=True, asks=True, errors=_KEEP_BYTES)
ISO_2022_JP = Encoding("iso2022_jp", 0, "ISO-2022-JP")
_JAPANESE_MARKS = (b"\x1b$B", b"\x1b$@")
# UTF-32 LE first: its mark begins with the mark of UTF-16 LE.
_BY_BOM = {
    codecs.BOM_UTF8: Encoding("utf-8", 3, "UTF-8 with byte order mark"),
    codecs.BOM_UTF32_LE: Encoding("utf-32-le", 4, "UTF-32 LE"),
    codecs.BOM_UTF32_BE: Encoding("utf-32-be", 4, "UTF-32 BE"),
    codecs.BOM_UTF16_LE: Encoding("utf-16-le", 2, "UTF-16 LE"),
    codecs.BOM_UTF16_BE: Encoding("utf-16-be", 2, "UTF-16 BE"),
}


class UnreadableAudience(ConfigurationError):
    """The file cannot be read as a table of text."""


def detect(file: BinaryIO, given: str | None = None) -> Encoding:
    """Return the encoding of a text file. The file is at its start afterwards. A byte order mark outranks
    the name that is `given`. Raise UsageError for a name that is none.
    """
    named = None if given is None else named_encoding(given)
    file.seek(0)
    head = file.read(SAMPLE_BYTES)
    by_bom = next((encoding for bom, encoding in _BY_BOM.items() if head.startswith(bom)), None)
    encoding = by_bom or named or _by_zeros(head) or _by_first_accent(file, head)
    file.seek(0)
    return encoding


def named_encoding(name: str) -> Encoding:
    """Return the encoding with this name, a name of Python or of the Web. Raise UsageError for another one.

    A name that stands for a part of a later encoding is read as that one, as the Web does: programs write
    Windows-1252 and call it ISO-8859-1.
    """
    for spelling in (name, name.removeprefix("x-")):
        try:
            codec = codecs.lookup(spelling.strip().lower().replace(" ", "-"))
        except (LookupError, ValueError):
            continue
        if codec._is_text_encoding and codec.name not in _NO_ENCODINGS:
            return Encoding(_SUPERSETS.get(codec.name, codec.name), 0, name)
    raise UsageError(
        "{encoding} {text!r} is no encoding",
        remedy="use a name such as utf-8, cp1250, cp1254 or shift_jis",
        values={"text": name},
    )


def bytes_of(text: str, encoding: Encoding) -> bytes:
    """Return the bytes that were decoded to a text."""
    return text.encode(encoding.codec, encoding.errors)


def _keep_bytes(error: UnicodeError) -> tuple[str | bytes, int]:
    if isinstance(error, UnicodeDecodeError):
        return error.object[error.start : error.end].decode("latin-1"), error.end
    if isinstance(error, UnicodeEncodeError):
        return error.object[error.start : error.end].encode("latin-1"), error.end
    raise error


codecs.register_error(_KEEP_BYTES, _keep_bytes)


def _by_zeros(head: bytes) -> Encoding | None:
    units = len(head) // 2
    if not units:
        return None
    even, odd = head[0::2].count(0) / units, head[1::2].count(0) / units
    if odd >= _ZERO_SHARE_MIN and even <= _ZERO_SHARE_MAX:
        return Encoding("utf-16-le", 0, "UTF-16 LE without byte order mark", is_guess=True)
    if even >= _ZERO_SHARE_MIN and odd <= _ZERO_SHARE_MAX:
        return Encoding("utf-16-be", 0, "UTF-16 BE without byte order mark", is_guess=True)
    return None


def _by_first_accent(file: BinaryIO, head: bytes) -> Encoding:
    chunk = head
    while chunk and chunk.isascii():
        chunk = file.read(CHUNK_BYTES)
    if not chunk:
        return ISO_2022_JP if any(mark in head for mark in _JAPANESE_MARKS) else UTF_8
    first = len(chunk) - len(chunk.lstrip(_ASCII))
    sample = chunk[first : first + SAMPLE_BYTES]
    if len(sample) < SAMPLE_BYTES:
        sample += file.read(SAMPLE_BYTES - len(sample))
    return _by_sample(sample)


def _by_sample(sample: bytes) -> Encoding:
    """Return UTF-8 if most of the sample is valid, so that damaged UTF-8 is not read as Windows-1252."""
    text = codecs.getincrementaldecoder("utf-8")("surrogateescape").decode(sample)
    accents = sum(1 for character in text if character > "\x7f")
    strays = sum(1 for character in text if "\udc80" <= character <= "\udcff")
    return UTF_8 if accents > 2 * strays else WINDOWS_1252  # a stray byte also counts as an accent


def decode(file: BinaryIO, encoding: Encoding, name: str) -> Iterator[TextChunk]:
    """Give the text of a file in chunks.

    Raise UnreadableAudience, which names the line and the byte offset (from 0) of bytes that are not valid.
    """
    file.seek(encoding.bom_bytes)
    decoder = codecs.getincrementaldecoder(encoding.codec)(encoding.errors)
    read_bytes, breaks, last = encoding.bom_bytes, 0, ""
    while True:
        chunk = file.read(CHUNK_BYTES)
        waiting = len(decoder.getstate()[0])
        try:
            text = decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            before = last + error.object[: error.start].decode(encoding.codec, "replace")
            line = breaks - count_lines(last) + count_lines(before) + 1
            raise _undecodable(error, encoding, read_bytes - waiting, line, name) from error
        read_bytes += len(chunk)
        breaks += count_lines(last + text) - count_lines(last)
        last = text[-1:] or last
        yield TextChunk(text, read_bytes)
        if not chunk:
            return


def count_lines(text: str) -> int:
    """Count line ends: a line feed, a carriage return, or both."""
    returns = text.count("\r")
    return text.count("\n") + (returns - text.count("\r\n") if returns else 0)


def _undecodable(
    error: UnicodeDecodeError, encoding: Encoding, start: int, line: int, name: str
) -> UnreadableAudience:
    found = error.object[error.start : error.end].hex(" ")
    return UnreadableAudience(
        f"the bytes {found} are not valid {{label}}",
        where=f"{name}, line {line}, byte {start + error.start}",
        remedy="export the file again as UTF-8, or name its encoding with {encoding}",
        values={"label": encoding.label},
    )
