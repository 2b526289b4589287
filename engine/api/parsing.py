"""Where aiohttp's parser stands when it has read a reply: what more it holds is no part of the next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from aiohttp.http_parser import RawResponseMessage
    from aiohttp.streams import StreamReader

_END = b"\r\n\r\n"
_PROBE_WORD = "probe"
_PROBE = b"HTTP/1.1 100 %b\r\n\r\n" % _PROBE_WORD.encode()


def ends_reply(data: bytes, message: RawResponseMessage, body: StreamReader, known_bytes: int | None) -> bool:
    """Whether it is sure without the parser that nothing follows a reply that this piece has completed.
    `known_bytes`: what was known of its body before; None where its head ends in this piece too.
    """
    if message.chunked:
        return data.endswith(_END) or _END.endswith(data)
    # What was coded has another length than what was read. In a piece with the end of a head an empty line
    # of the body may pass for that end.
    sure = message.compression is None and known_bytes is not None
    return sure and len(data) == body.total_bytes - (known_bytes or 0)


def stands_between(parser: Any) -> bool:
    """Whether the parser is at the beginning of a reply: only there it reads an interim reply as one.

    Costs a tenth of reading a reply. After a yes the parser stands where it stood; after a no nobody knows.
    """
    try:
        messages, _, _ = parser.feed_data(_PROBE)
    except Exception:  # it has ended, or the probe makes no sense where it stands
        return False
    heads = [(message.code, message.reason, len(message.headers)) for message, _ in messages]
    return heads == [(100, _PROBE_WORD, 0)]
