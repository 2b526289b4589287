"""The headers that OWASP asks for, on every reply."""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.console.web.context import CONSOLE

# Everything comes from this server, nothing is inline, and no other page may frame ours.
CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "base-uri 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": with it, browsers do not name the origin of a form.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
}
ONLY_HTTPS = "max-age=31536000"


async def add_security_headers(request: web.Request, response: web.StreamResponse) -> None:
    """Add the headers. Pages hold phone numbers, so nobody keeps a copy unless the handler allows it."""
    response.headers.update(HEADERS)
    response.headers.setdefault("Cache-Control", "no-store")
    response.headers.pop("Server", None)
    if request.app[CONSOLE].own.is_secure:
        response.headers["Strict-Transport-Security"] = ONLY_HTTPS
