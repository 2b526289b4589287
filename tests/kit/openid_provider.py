"""An OpenID provider that listens in this process: real requests, real signatures, and the attacks of a bad one."""

import base64
import secrets
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from aiohttp import BasicAuth, web
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from joserfc import jwt
from joserfc.jwk import RSAKey

CLIENT, SECRET = "drumbeat", "a secret of the client"
SHARED_ID, SHARED_KEY = "two", b"a key that two sides share, 32 bytes"
Forge = Callable[["OpenIdProvider", dict[str, Any]], str]


@dataclass
class OpenIdProvider:
    """A provider. `person`: the claims of whoever signs in next. `forge`: makes the token of the true claims;
    without it, they are signed.
    """

    url: str = ""
    person: dict[str, Any] = field(default_factory=dict)
    forge: Forge | None = None
    names_itself: str = ""
    token_status: int = 200
    key: RSAKey = field(default_factory=lambda: RSAKey.generate_key(2048, {"kid": "one", "use": "sig"}))
    _codes: dict[str, dict[str, str]] = field(default_factory=dict)

    def signed(self, claims: dict[str, Any], *, key: RSAKey | None = None, kid: str = "one") -> str:
        return jwt.encode({"alg": "RS256", "kid": kid}, claims, key or self.key)

    async def discovery(self, _: web.Request) -> web.Response:
        return web.json_response(
            {
                "issuer": self.names_itself or self.url,
                "authorization_endpoint": f"{self.url}/authorize",
                "token_endpoint": f"{self.url}/token",
                "jwks_uri": f"{self.url}/keys",
            }
        )

    async def keys(self, _: web.Request) -> web.Response:
        odd = {"kty": "oct", "k": base64.urlsafe_b64encode(SHARED_KEY).decode().rstrip("="), "kid": SHARED_ID}
        return web.json_response({"keys": [self.key.as_dict(private=False), odd]})

    async def authorize(self, request: web.Request) -> web.Response:
        """Sign the person in at once, and lead back."""
        asked = dict(request.query)
        assert asked["response_type"] == "code" and asked["code_challenge_method"] == "S256"
        assert asked["client_id"] == CLIENT and "openid" in asked["scope"].split()
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        back = f"{asked['redirect_uri']}?{urlencode({'code': code, 'state': asked['state']})}"
        return web.Response(status=302, headers={"Location": back})

    async def token(self, request: web.Request) -> web.Response:
        form = await request.post()
        login = BasicAuth.decode(request.headers["Authorization"])
        asked = self._codes.pop(str(form["code"]), None)
        is_right = (
            asked is not None
            and (login.login, login.password) == (CLIENT, SECRET)
            and form["redirect_uri"] == asked["redirect_uri"]
            and create_s256_code_challenge(str(form["code_verifier"])) == asked["code_challenge"]
        )
        if asked is None or not is_right or self.token_status != 200:
            status = 400 if self.token_status == 200 else self.token_status
            return web.json_response({"error": "invalid_grant"}, status=status)
        claims = {
            "iss": self.url,
            "aud": CLIENT,
            "sub": "248289761001",
            "nonce": asked["nonce"],
            "iat": int(time.time()),
            "exp": int(time.time()) + 300,
            **self.person,
        }
        token = self.forge(self, claims) if self.forge else self.signed(claims)
        return web.json_response({"access_token": "a", "token_type": "Bearer", "id_token": token})


@asynccontextmanager
async def openid_provider() -> AsyncIterator[OpenIdProvider]:
    """Run a provider on a free port while the block runs."""
    provider = OpenIdProvider()
    app = web.Application()
    app.router.add_get("/.well-known/openid-configuration", provider.discovery)
    app.router.add_get("/keys", provider.keys)
    app.router.add_get("/authorize", provider.authorize)
    app.router.add_post("/token", provider.token)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    provider.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield provider
    finally:
        await runner.cleanup()
