"""The bodies that a proxy packs on their way.

Law: a body that cannot be unpacked is refused, so that the service sends it again. It is never set aside
behind a 200.
"""

import zlib

CODING_HEADER = b"content-encoding"
_GZIP = 31  # window bits: the largest window, in a gzip frame
_PLAIN, _PACKED = frozenset({b"", b"identity"}), frozenset({b"gzip", b"x-gzip"})


class NotUnpacked(Exception):
    """A body that cannot be unpacked. `status` is that of the answer, 413 or 415."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def unpack(body: bytes, coding: bytes | None, bytes_max: int) -> bytes:
    """Return the plain body. Raises NotUnpacked for another coding, broken data, or more than `bytes_max`."""
    name = (coding or b"").strip().lower()
    if name in _PLAIN:
        return body
    if name not in _PACKED:
        raise NotUnpacked(415)
    unpacking = zlib.decompressobj(_GZIP)
    try:
        plain = unpacking.decompress(body, bytes_max)
    except zlib.error:
        raise NotUnpacked(415) from None
    if not unpacking.eof:
        raise NotUnpacked(413 if unpacking.unconsumed_tail else 415)
    if unpacking.unused_data:  # a second frame: half of the body would count as the whole
        raise NotUnpacked(415)
    return plain
