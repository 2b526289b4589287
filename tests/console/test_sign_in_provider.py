"""Signing in at an OpenID provider: the whole way with real signatures, and every answer that must not count."""

import base64
import hmac
import json
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from joserfc.jwk import RSAKey
from pydantic import SecretStr

from drumbeat.campaigns.console.web.oidc_rules import (
    NotAllowed,
    Provider,
    name_in,
    provider_of,
    role_in,
)
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import find_user, store_user
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool
from tests.console.conftest import Caller, Reply, console
from tests.kit.openid_provider import (
    CLIENT,
    SECRET,
    SHARED_ID,
    SHARED_KEY,
    Forge,
    OpenIdProvider,
    openid_provider,
)
from tests.kit.ports import free_port

ANA = {"email": "Ana@lantern.example", "email_verified": True, "groups": ["all", "ops"]}
SETTINGS: dict[str, Any] = {
    "console_oidc_client_id": CLIENT,
    "console_oidc_client_secret": SecretStr(SECRET),
    "console_oidc_roles": "ops=manage, sales = look",
    "console_oidc_domains": "lantern.example",
}
RULES = Provider(
    "https://id.example",
    CLIENT,
    SECRET,
    "https://drumbeat.example/sign-in/provider/callback",
    "groups",
    {"ops": Role.MANAGE, "sales": Role.LOOK},
    frozenset(),
)


@pytest.fixture
async def provider() -> AsyncIterator[OpenIdProvider]:
    async with openid_provider() as running:
        running.person = dict(ANA)
        yield running


@pytest.fixture
def more() -> dict[str, Any]:
    """Further settings of a test."""
    return {}


@pytest.fixture
async def url(
    pool: Pool, database_url: str, tmp_path: Path, provider: OpenIdProvider, more: dict[str, Any]
) -> AsyncIterator[str]:
    port = free_port()
    given = {
        **SETTINGS,
        "console_oidc_issuer": provider.url,
        "console_url": f"http://127.0.0.1:{port}",
        **more,
    }
    async with console(pool, database_url, tmp_path, port=port, **given) as url:
        yield url


def cookies_of(reply: Reply) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in reply.headers.getall("Set-Cookie", ()):
        found |= {name: morsel.value for name, morsel in SimpleCookie(line).items()}
    return found


async def led_back(url: str, then: str = "/numbers") -> tuple[str, dict[str, str]]:
    """Begin a sign-in and let the provider do its part; the address that leads back, and the cookies."""
    led = await Caller(url).get("/sign-in/provider", params={"then": then})
    assert led.status == 303, led.text
    async with (
        aiohttp.ClientSession() as session,
        session.get(led.headers["Location"], allow_redirects=False) as reply,
    ):
        back = reply.headers["Location"]
    assert back.startswith(url)
    return back.removeprefix(url), cookies_of(led)


async def finished(url: str, back: str, cookies: dict[str, str]) -> Reply:
    header = "; ".join(f"{name}={value}" for name, value in cookies.items())
    return await Caller(url).get(back, headers={"Cookie": header})


async def signed_in(url: str) -> Reply:
    return await finished(url, *await led_back(url))


async def test_a_person_signs_in_and_out(pool: Pool, url: str) -> None:
    assert "Sign in at 127.0.0.1" in (await Caller(url).get("/sign-in")).text
    entered = await signed_in(url)
    assert (entered.status, entered.headers["Location"]) == (303, "/numbers")
    session = f"drumbeat_session={cookies_of(entered)['drumbeat_session']}"
    assert "HttpOnly" in str(entered.headers) and "SameSite=Lax" in str(entered.headers)
    page = await Caller(url).get("/users", headers={"Cookie": session})
    assert page.status == 200 and "ana@lantern.example" in page.text
    csrf = page.text.split('name="csrf" value="')[1].split('"')[0]
    left = await Caller(url).post(
        "/sign-out", data={"csrf": csrf}, headers={"Cookie": session, "Origin": url}
    )
    assert left.status == 303
    assert (
        (await Caller(url).get("/users", headers={"Cookie": session}))
        .headers["Location"]
        .startswith("/sign-in")
    )


async def test_the_groups_of_each_sign_in_decide(pool: Pool, url: str, provider: OpenIdProvider) -> None:
    assert (await signed_in(url)).status == 303
    assert await find_user(pool, "ana@lantern.example") is Role.MANAGE
    provider.person["groups"] = "sales"
    session = cookies_of(await signed_in(url))["drumbeat_session"]
    assert await find_user(pool, "ana@lantern.example") is Role.LOOK
    provider.person["groups"] = ["others"]
    refused = await signed_in(url)
    assert refused.status == 403 and "Ask whoever manages" in refused.text
    again = await Caller(url).get("/numbers", headers={"Cookie": f"drumbeat_session={session}"})
    assert again.headers["Location"].startswith("/sign-in"), "the sessions have ended"


@pytest.mark.parametrize("more", [{"console_oidc_roles": None}])
async def test_without_groups_only_known_users_enter(pool: Pool, url: str) -> None:
    assert (await signed_in(url)).status == 403
    assert await find_user(pool, "ana@lantern.example") is None
    await store_user(pool, "ana@lantern.example", Role.SEND, None, actor="test")
    assert (await signed_in(url)).status == 303
    assert await find_user(pool, "ana@lantern.example") is Role.SEND


def _with(**changed: Any) -> Forge:
    return lambda provider, claims: provider.signed({**claims, **changed})


def _without(name: str) -> Forge:
    return lambda provider, claims: provider.signed(
        {key: value for key, value in claims.items() if key != name}
    )


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()


def _unsealed(algorithm: str, claims: dict[str, Any], kid: str = "one") -> str:
    parts = ({"alg": algorithm, "kid": kid}, claims)
    return ".".join(_encoded(json.dumps(part).encode()) for part in parts)


def _unsigned(_: OpenIdProvider, claims: dict[str, Any]) -> str:
    return f"{_unsealed('none', claims)}."


def _with_the_public_key(provider: OpenIdProvider, claims: dict[str, Any]) -> str:
    """Sign with a shared key whose bytes are the public key, which everybody has."""
    content = _unsealed("HS256", claims)
    seal = hmac.digest(provider.key.as_pem(private=False), content.encode(), "sha256")
    return f"{content}.{_encoded(seal)}"


def _with_the_shared_key(_: OpenIdProvider, claims: dict[str, Any]) -> str:
    """Sign with the shared key that the provider lists beside its own."""
    content = _unsealed("HS256", claims, SHARED_ID)
    return f"{content}.{_encoded(hmac.digest(SHARED_KEY, content.encode(), 'sha256'))}"


def _with_another_key(provider: OpenIdProvider, claims: dict[str, Any]) -> str:
    return provider.signed(claims, key=RSAKey.generate_key(2048))


def _changed_afterwards(provider: OpenIdProvider, claims: dict[str, Any]) -> str:
    head, _, seal = provider.signed(claims).split(".")
    body = _encoded(json.dumps({**claims, "groups": ["ops"]}).encode())
    return f"{head}.{body}.{seal}"


FORGED: dict[str, Forge] = {
    "another nonce": _with(nonce="another"),
    "no nonce": _without("nonce"),
    "another audience": _with(aud="another"),
    "no audience": _without("aud"),
    "two audiences, and not said for whom": _with(aud=[CLIENT, "another"]),
    "for another client": _with(aud=[CLIENT, "another"], azp="another"),
    "another issuer": _with(iss="https://evil.example"),
    "no issuer": _without("iss"),
    "expired": _with(exp=int(time.time()) - 3600),
    "never expires": _without("exp"),
    "an end that is no number": _with(exp="tomorrow"),
    "not valid yet": _with(nbf=int(time.time()) + 3600),
    "nobody": _without("sub"),
    "no signature": _unsigned,
    "signed with the public key": _with_the_public_key,
    "signed with a shared key": _with_the_shared_key,
    "another key": _with_another_key,
    "an unknown key": lambda provider, claims: provider.signed(claims, kid="three"),
    "changed afterwards": _changed_afterwards,
    "no token": lambda *_: "",
    "rubbish": lambda *_: "a.b.c",
    "a list": lambda *_: "W10.W10.W10",
}


@pytest.mark.parametrize("kind", FORGED)
async def test_a_token_that_cannot_be_trusted_opens_nothing(
    pool: Pool, url: str, provider: OpenIdProvider, kind: str
) -> None:
    provider.forge = FORGED[kind]
    refused = await signed_in(url)
    assert refused.status == 403 and "did not succeed" in refused.text
    assert "drumbeat_session" not in cookies_of(refused)
    assert await find_user(pool, "ana@lantern.example") is None


async def test_only_the_browser_that_began_can_finish_and_once(
    pool: Pool, url: str, provider: OpenIdProvider
) -> None:
    mine, other = await led_back(url), await led_back(url)
    code, state = mine[0].split("?")[1].split("&")
    attacks = [
        (mine[0], {}),
        (mine[0], other[1]),
        (mine[0].replace(state, "state=another"), mine[1]),
        (mine[0].replace(f"&{state}", ""), mine[1]),
        (mine[0].replace(f"{code}&", ""), mine[1]),
        (f"{mine[0]}&iss=https%3A%2F%2Fevil.example", mine[1]),
        (mine[0], {name: f"e30=.{value.partition('.')[2]}" for name, value in mine[1].items()}),
        (mine[0], dict.fromkeys(mine[1], "ü")),
        (f"{mine[0].partition('?')[0]}?error=access_denied&{state}", mine[1]),
        (mine[0].replace(code, other[0].split("?")[1].split("&")[0]), mine[1]),  # another one's code
    ]
    for back, cookies in attacks:
        assert (await finished(url, back, cookies)).status in (400, 403), back
    assert (await finished(url, *mine)).status == 303
    assert (await finished(url, *mine)).status == 403, "a code counts once"
    assert await pool.fetchval("SELECT count(*) FROM console_sessions") == 1


async def test_a_link_cannot_lead_elsewhere_afterwards(url: str) -> None:
    for then in ("//evil.example", "https://evil.example", "/\\evil.example"):
        assert (await finished(url, *await led_back(url, then))).headers["Location"] == "/"


async def test_a_provider_that_names_another_or_is_away_is_said(url: str, provider: OpenIdProvider) -> None:
    provider.names_itself = "https://evil.example"
    assert (await Caller(url).get("/sign-in/provider")).status == 403
    provider.names_itself = ""
    provider.token_status = 503
    away = await signed_in(url)
    assert away.status == 503 and "does not answer" in away.text


async def test_without_users_nobody_on_this_machine_manages(url: str) -> None:
    assert (await Caller(url).get("/users")).headers["Location"].startswith("/sign-in")


async def test_without_a_provider_there_is_no_way_to_one(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    async with console(pool, database_url, tmp_path) as url:
        assert (await Caller(url).get("/sign-in/provider")).status == 404
        assert (await Caller(url).get("/sign-in/provider/callback?code=a&state=b")).status == 404


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"email": 7},
        {"email": "ana"},
        {"email": "ana@x@lantern.example"},
        {"email": "\u0430na@lantern.example"},
        {"email": "ana@lantern.example", "email_verified": False},
        {"email": "ana@lantern.example", "email_verified": "false"},
        {"email": "ana@evil.example"},
        {"email": "ana@lantern.example.evil.example"},
    ],
)
def test_only_a_verified_address_of_our_domain_is_a_name(claims: dict[str, Any]) -> None:
    ours = replace(RULES, domains=frozenset({"lantern.example"}))
    assert name_in(ANA, ours) == "ana@lantern.example"
    with pytest.raises(NotAllowed):
        name_in(claims, ours)


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        (["sales", "ops"], Role.MANAGE),
        (["sales"], Role.LOOK),
        ("ops", Role.MANAGE),
        (["all"], None),
        (7, None),
    ],
)
def test_the_highest_role_of_the_groups_counts(groups: Any, role: Role | None) -> None:
    def asked() -> Role:
        return role_in({"groups": groups}, RULES, Role.MANAGE)

    if role is None:
        with pytest.raises(NotAllowed):
            asked()
    else:
        assert asked() is role


@pytest.mark.parametrize("claim", ["realm.roles", "https://lantern.example/roles"])
def test_a_claim_is_named_by_its_name_or_by_a_path(claim: str) -> None:
    rules = replace(RULES, role_claim=claim)
    claims = {"realm": {"roles": ["ops"]}, "https://lantern.example/roles": ["ops"]}
    assert role_in(claims, rules, None) is Role.MANAGE


@pytest.mark.parametrize(
    "changed",
    [
        {"console_oidc_client_id": None},
        {"console_oidc_client_secret": None},
        {"console_url": None},
        {"console_oidc_issuer": "http://id.example"},
        {"console_oidc_roles": "ops"},
        {"console_oidc_roles": "ops=boss"},
    ],
)
def test_settings_that_let_nobody_in_or_anybody_are_refused(changed: dict[str, Any]) -> None:
    given = {
        **SETTINGS,
        "console_oidc_issuer": "https://id.example",
        "console_url": "https://drumbeat.example",
    }
    assert provider_of(Settings(**given)) is not None
    with pytest.raises(ConfigurationError):
        provider_of(Settings(**{**given, **changed}))
