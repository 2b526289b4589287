"""The check that aiohttp's parser holds no bytes after a complete reply. They would begin the next reply."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader

_END = b"\r\n\r\n"
_PROBE_WORD = "probe"
_PROBE = b"HTTP/1.1 100 %b\r\n\r\n" % _PROBE_WORD.encode()


def ends_reply(data: bytes, message: RawResponseMessage, body: StreamReader, known_bytes: int | None) -> bool:
    """Return True if certainly nothing follows the reply that `data` completes. False: ask
    `is_between_replies`.

    `known_bytes` counts the bytes of the body that had arrived before. It is None if the head ends in `data`
    too.
    """
    if message.chunked:
        return data.endswith(_END) or _END.endswith(data)
    # A decoded body differs in length from what was received. If the head ends in `data`, the start of the
    # body is unknown: an empty line in the body looks like the end of the head.
    sure = message.compression is None and known_bytes is not None
    return sure and len(data) == body.total_bytes - (known_bytes or 0)


def is_between_replies(parser: Any) -> bool:
    """Return whether the parser expects the beginning of a reply: only then does it accept an interim reply.

    The call costs a tenth of reading a reply. True leaves the parser as it was. After False its position is
    undefined.
    """
    try:
        messages, _, _ = parser.feed_data(_PROBE)
    except Exception:  # the parser has ended, or the probe is invalid at its position
        return False
    heads = [(message.code, message.reason, len(message.headers)) for message, _ in messages]
    return heads == [(100, _PROBE_WORD, 0)]
