"""The browsers that a person has signed in with: each keeps a cookie that proves it, and opens nothing.

The proof is made with the stored hash of the password, which nobody else has. So it holds in every console of
a database, needs no storage, and ends with the password.
"""

from __future__ import annotations

import hmac

from aiohttp import web

from drumbeat.campaigns.console.web.users import password_hash
from drumbeat.engine.store.database import Pool

COOKIE = "drumbeat_known"
SECURE_COOKIE = "__Host-drumbeat_known"
KNOWN_S = 365 * 24 * 3600


async def is_known(pool: Pool, name: str, request: web.Request, *, is_secure: bool) -> bool:
    """Return whether this name signed in with the browser of the request, with its present password."""
    given = request.cookies.get(_cookie(is_secure), "")
    if not given:
        return False
    stored = await password_hash(pool, name)
    return stored is not None and hmac.compare_digest(_proof(name, stored).encode(), given.encode())


async def remember(pool: Pool, name: str, response: web.Response, *, is_secure: bool) -> None:
    """Let the browser that gets the response show from now on that this name signed in with it."""
    stored = await password_hash(pool, name)
    if stored is not None:
        response.set_cookie(
            _cookie(is_secure),
            _proof(name, stored),
            max_age=KNOWN_S,
            httponly=True,
            secure=is_secure,
            samesite="Lax",
            path="/",
        )


def _cookie(is_secure: bool) -> str:
    return SECURE_COOKIE if is_secure else COOKIE


def _proof(name: str, stored: str) -> str:
    return hmac.digest(stored.encode(), f"known browser\n{name}".encode(), "sha256").hex()
