"""Who sent a body: the signature over its raw bytes, never over JSON that was written again."""

import hmac

SIGNATURE_HEADER = b"x-hub-signature-256"
_PREFIX = b"sha256="


def sign(body: bytes, app_secret: bytes) -> str:
    """The header value of a body: `sha256=` and the lower-case hex HMAC-SHA256 keyed with the app secret."""
    return "sha256=" + hmac.digest(app_secret, body, "sha256").hex()


def verify(body: bytes, header: str | bytes | None, app_secret: bytes) -> bool:
    """Whether `header` signs exactly these bytes. Takes the same time wherever the first difference is."""
    if not header:
        return False
    given = header.encode("utf-8", "replace") if isinstance(header, str) else header
    expected = _PREFIX + hmac.digest(app_secret, body, "sha256").hex().encode()
    return hmac.compare_digest(expected, given)
