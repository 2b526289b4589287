"""The Authorization Code flow of OpenID Connect with PKCE, as a client: addresses, requests and tokens.

Law: nothing of a token counts before its signature, issuer, audience, time and nonce have been checked, with
a key of the provider and an algorithm that has a public key. What is kept between the two halves of a sign-in
lies in a cookie that we sign, so that no other browser can finish it.
"""

from __future__ import annotations

import base64
import binascii
import hmac
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import aiohttp
import orjson
from authlib.common.security import generate_token
from authlib.oauth2.rfc6749.parameters import prepare_grant_uri
from authlib.oauth2.rfc7636 import create_s256_code_challenge
from authlib.oidc.core import CodeIDToken
from joserfc import jwt
from joserfc.errors import JoseError
from joserfc.jwk import KeySet

from drumbeat.campaigns.console.web.oidc_rules import Provider
from drumbeat.engine.api.trust import trust_of

DISCOVERY = "/.well-known/openid-configuration"
SCOPE = "openid email profile"
ALGORITHMS = ["RS256", "PS256", "ES256", "RS384", "RS512", "ES384"]  # none, and none whose key is shared
TOKEN_CHARACTERS = 48  # RFC 7636 asks a verifier for 43 at least
BEGUN_S_MAX = 600.0  # a person may have to find a second factor
LEEWAY_S = 60  # between two clocks
TIMEOUT_S = 10.0
REPLY_BYTES_MAX = 1 << 20


class NotTrusted(Exception):
    """The error of an answer that cannot be trusted. The text is for the log and holds no secret."""


class ProviderAway(Exception):
    """The error of a provider that does not answer as one."""


@dataclass(frozen=True, slots=True)
class Begun:
    """A sign-in that began: what its end must show again. `at_s`: seconds since the epoch."""

    state: str
    nonce: str
    verifier: str
    then: str
    at_s: float

    def sealed(self, key: bytes) -> str:
        """Return the text of the cookie."""
        content = base64.urlsafe_b64encode(orjson.dumps(asdict(self)))
        return f"{content.decode()}.{_seal(content, key)}"


def _seal(content: bytes, key: bytes) -> str:
    return hmac.digest(key, b"sign-in at a provider\n" + content, "sha256").hex()


def begin(then: str) -> Begun:
    state, nonce, verifier = (generate_token(TOKEN_CHARACTERS) for _ in range(3))
    return Begun(state, nonce, verifier, then, time.time())


def opened(sealed: str, state: str, key: bytes) -> Begun:
    """Return the sign-in of a cookie. NotTrusted unless we sealed it lately, and for this state."""
    content, _, seal = sealed.partition(".")
    if not hmac.compare_digest(_seal(content.encode(), key).encode(), seal.encode()):
        raise NotTrusted("this browser began no sign-in")
    try:
        begun = Begun(**orjson.loads(base64.urlsafe_b64decode(content)))
    except (binascii.Error, ValueError, TypeError):
        raise NotTrusted("this browser began no sign-in") from None
    if not hmac.compare_digest(begun.state.encode(), state.encode()):
        raise NotTrusted("the state is not the one that this browser was given")
    if time.time() - begun.at_s > BEGUN_S_MAX:
        raise NotTrusted("the sign-in took too long")
    return begun


class Client:
    """A client of one provider. Each sign-in reads the provider's addresses and keys anew: sign-ins are rare,
    and a key that the provider withdrew must not count.
    """

    def __init__(self, provider: Provider, ca_file: Path | None) -> None:
        self._provider = provider
        self._ca_file = ca_file

    async def address(self, begun: Begun) -> str:
        """Return the address at which the person signs in."""
        async with self._session() as session:
            found = await self._discover(session)
        given = {"nonce": begun.nonce, "code_challenge": create_s256_code_challenge(begun.verifier)}
        return str(
            prepare_grant_uri(
                found["authorization_endpoint"],
                self._provider.client_id,
                "code",
                redirect_uri=self._provider.redirect_uri,
                scope=SCOPE,
                state=begun.state,
                code_challenge_method="S256",
                **given,
            )
        )

    async def claims(self, begun: Begun, code: str) -> dict[str, Any]:
        """Return what the provider says of the person who brought the code. NotTrusted or ProviderAway if it
        says nothing that counts.
        """
        form = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self._provider.redirect_uri,
            "client_id": self._provider.client_id,
            "code_verifier": begun.verifier,
        }
        async with self._session() as session:
            found = await self._discover(session)
            auth = aiohttp.encode_basic_auth(self._provider.client_id, self._provider.client_secret)
            headers = {"Authorization": auth}
            reply = await _asked(session, "POST", found["token_endpoint"], data=form, headers=headers)
            keys = await _asked(session, "GET", found["jwks_uri"])
        return self._verified(str(reply.get("id_token", "")), keys, begun.nonce)

    def _verified(self, token: str, keys: dict[str, Any], nonce: str) -> dict[str, Any]:
        try:
            known = KeySet.import_key_set({"keys": [each for each in keys["keys"] if _is_for_signing(each)]})
            read = jwt.decode(token, known, algorithms=ALGORITHMS)
            options = {
                "iss": {"essential": True, "value": self._provider.issuer},
                "aud": {"essential": True, "value": self._provider.client_id},
            }
            params = {"nonce": nonce, "client_id": self._provider.client_id}
            CodeIDToken(read.claims, read.header, options, params).validate(leeway=LEEWAY_S)
        except JoseError as error:
            raise NotTrusted(f"the token is refused: {error.error}") from None
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise NotTrusted(f"the token cannot be read: {type(error).__name__}") from None
        return dict(read.claims)

    async def _discover(self, session: aiohttp.ClientSession) -> dict[str, str]:
        """Return the addresses of the provider. One that names another issuer is not the provider."""
        found = await _asked(session, "GET", self._provider.issuer.rstrip("/") + DISCOVERY)
        if found.get("issuer") != self._provider.issuer:
            raise NotTrusted("the provider names another issuer than DRUMBEAT_CONSOLE_OIDC_ISSUER")
        scheme = self._provider.issuer.partition(":")[0]
        for name in ("authorization_endpoint", "token_endpoint", "jwks_uri"):
            if not str(found.get(name, "")).startswith((f"{scheme}://", "https://")):
                raise NotTrusted(f"the provider names no safe {name}")
        return found

    def _session(self) -> aiohttp.ClientSession:
        trust = trust_of(self._ca_file)
        return aiohttp.ClientSession(
            timeout=aiohttp.ClientTimeout(TIMEOUT_S),
            connector=aiohttp.TCPConnector(ssl=True if trust is None else trust),
            trust_env=True,
        )


def _is_for_signing(key: dict[str, Any]) -> bool:
    """Return whether a key may sign tokens. Providers also list keys of kinds that we do not take."""
    return key.get("kty") in ("RSA", "EC") and key.get("use", "sig") == "sig"


async def _asked(session: aiohttp.ClientSession, method: str, url: str, **more: Any) -> dict[str, Any]:
    try:
        async with session.request(method, url, allow_redirects=False, **more) as reply:
            content = bytearray()
            async for part in reply.content.iter_any():
                content += part
                if len(content) > REPLY_BYTES_MAX:
                    raise ProviderAway("its answer is too long")
    except (aiohttp.ClientError, TimeoutError, ValueError) as error:
        raise ProviderAway(f"{type(error).__name__} at {url}") from None
    if reply.status != 200:
        kind = ProviderAway if reply.status >= 500 or reply.status == 429 else NotTrusted
        raise kind(f"{url} answers {reply.status}")
    try:
        found = orjson.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise ProviderAway(f"{url} answers no JSON object")
    return found
