"""The signatures of bodies. A signature covers the raw bytes, never JSON that was serialised again."""

import hashlib
import hmac

SIGNATURE_HEADER = b"x-hub-signature-256"
_PREFIX = b"sha256="
_BLOCK_BYTES = 64  # of SHA-256


def sign(body: bytes, app_secret: bytes) -> str:
    """Return the header value for a body: `sha256=` and its HMAC-SHA256 with the app secret, in lower hex."""
    return "sha256=" + hmac.digest(app_secret, body, "sha256").hex()


class Verifier:
    """A verifier that the holder of the app secret signed a body.

    Each half of an HMAC (RFC 2104) begins with a block that depends only on the key. It is hashed once, not
    for every body: that would be over half the cost of a small body.
    """

    def __init__(self, app_secret: bytes) -> None:
        key = app_secret if len(app_secret) <= _BLOCK_BYTES else hashlib.sha256(app_secret).digest()
        key = key.ljust(_BLOCK_BYTES, b"\0")
        self._inner = hashlib.sha256(bytes(byte ^ 0x36 for byte in key))
        self._outer = hashlib.sha256(bytes(byte ^ 0x5C for byte in key))

    def verify(self, body: bytes, header: str | bytes | None) -> bool:
        """Return whether `header` signs exactly these bytes. Compares in constant time."""
        if not header:
            return False
        given = header.encode("utf-8", "replace") if isinstance(header, str) else header
        inner, outer = self._inner.copy(), self._outer.copy()
        inner.update(body)
        outer.update(inner.digest())
        return hmac.compare_digest(_PREFIX + outer.hexdigest().encode(), given)
