"""Sessions, forged requests, proxies and headers: what keeps others out."""

import re
from pathlib import Path

import aiohttp
import pytest

from drumbeat.campaigns.console.web.request_limits import EXPORTS, LIST_CHECKS, SERVICE_CALLS, TOKEN_FAILURES
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.security_headers import HEADERS
from drumbeat.campaigns.console.web.sign_in_limit import NAME_ATTEMPTS
from drumbeat.campaigns.console.web.users import SESSION_S, add_token, remove_user, store_user
from drumbeat.engine.store.database import Pool
from tests.console.conftest import PHONE, Caller, Reply, console

PASSWORD = "a long enough password"
PAUSE = "/campaigns/spring/act/pause"


async def sign_in(caller: Caller, name: str = "ana", password: str = PASSWORD, **headers: str) -> Reply:
    given = {"Origin": caller.url, **headers}
    return await caller.post("/sign-in", data={"name": name, "password": password}, headers=given)


@pytest.fixture
async def ana(pool: Pool, url: str) -> Caller:
    """A browser in which ana, who may send, has signed in."""
    await store_user(pool, "ana", Role.SEND, PASSWORD, actor="test")
    browser = Caller(url)
    reply = await sign_in(browser)
    assert reply.status == 303
    browser.headers = {"Cookie": reply.headers["Set-Cookie"].partition(";")[0]}
    return browser


async def csrf_of(caller: Caller) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', (await caller.get("/campaigns/spring")).text)
    assert found is not None
    return found[1]


async def test_another_console_of_the_database_takes_the_form(
    pool: Pool, database_url: str, ana: Caller, tmp_path: Path
) -> None:
    """Of several pods, any one may get the form that another one made."""
    token = await csrf_of(ana)
    async with console(pool, database_url, tmp_path) as other:
        browser = Caller(other)
        browser.headers = ana.headers
        reply = await browser.post(PAUSE, data={"csrf": token}, headers={"Origin": other})
    assert (reply.status, await state_of(pool)) == (303, "paused")


async def state_of(pool: Pool) -> str:
    return str(await pool.fetchval("SELECT state FROM campaigns WHERE name = 'spring'"))


async def test_a_session_acts_with_the_token_of_its_pages(pool: Pool, ana: Caller) -> None:
    reply = await ana.post(PAUSE, data={"csrf": await csrf_of(ana)}, headers={"Origin": ana.url})
    assert (reply.status, await state_of(pool)) == (303, "paused")
    (actor,) = await pool.fetch("SELECT actor FROM audit WHERE action = 'pause'")
    assert actor["actor"] == "ana"


@pytest.mark.parametrize(
    ("origin", "token", "code"),
    [
        ("https://evil.example", "right", "foreign_origin"),
        ("null", "right", "foreign_origin"),
        ("", "right", "foreign_origin"),
        ("own", "", "stale_form"),
        ("own", "0" * 64, "stale_form"),
    ],
)
@pytest.mark.parametrize("path", [PAUSE, "/api/v1/campaigns/spring/pause"])
async def test_a_forged_request_changes_nothing(
    pool: Pool, ana: Caller, path: str, origin: str, token: str, code: str
) -> None:
    given = await csrf_of(ana) if token == "right" else token
    headers = {"Origin": ana.url if origin == "own" else origin} if origin else {}
    reply = await ana.post(path, data={"csrf": given}, headers=headers)
    assert (reply.status, await state_of(pool)) == (403, "draft")
    if reply.body:
        assert reply.code == code


async def test_a_token_of_another_session_is_forged(pool: Pool, ana: Caller) -> None:
    other = Caller(ana.url)
    other.headers = {"Cookie": (await sign_in(Caller(ana.url))).headers["Set-Cookie"].partition(";")[0]}
    reply = await ana.post(PAUSE, data={"csrf": await csrf_of(other)}, headers={"Origin": ana.url})
    assert (reply.status, await state_of(pool)) == (403, "draft")


@pytest.mark.parametrize(
    "ending",
    [
        f"UPDATE console_sessions SET created_at = now() - interval '{SESSION_S + 1} seconds'",
        "UPDATE console_sessions SET used_at = now() - interval '3 hours'",
        "DELETE FROM console_sessions",
        "DELETE FROM console_users",
    ],
)
async def test_a_session_that_ended_is_none(pool: Pool, ana: Caller, ending: str) -> None:
    assert (await ana.get("/campaigns")).status == 200
    await pool.execute(ending)
    reply = await ana.get("/campaigns?state=draft")
    assert (reply.status, reply.headers["Location"]) == (303, "/sign-in?then=%2Fcampaigns%3Fstate%3Ddraft")
    assert (await ana.get("/api/v1/campaigns")).status == 401


async def test_a_new_password_and_a_sign_out_end_sessions(pool: Pool, ana: Caller) -> None:
    await ana.post("/sign-out", data={"csrf": await csrf_of(ana)}, headers={"Origin": ana.url})
    assert (await ana.get("/campaigns")).status == 303
    ana.headers = {"Cookie": (await sign_in(Caller(ana.url))).headers["Set-Cookie"].partition(";")[0]}
    assert (await ana.get("/campaigns")).status == 200
    await store_user(pool, "ana", Role.SEND, "another long password", actor="test")
    assert (await ana.get("/campaigns")).status == 303


async def test_a_changed_role_counts_at_once(pool: Pool, ana: Caller) -> None:
    token = await csrf_of(ana)
    await store_user(pool, "ana", Role.LOOK, None, actor="test")
    reply = await ana.post(PAUSE, data={"csrf": token}, headers={"Origin": ana.url})
    assert (reply.status, await state_of(pool)) == (403, "draft")
    assert "role" in reply.text


async def test_no_secret_is_stored(pool: Pool, ana: Caller) -> None:
    secret = ana.headers["Cookie"].partition("=")[2].encode()
    rows = [
        *await pool.fetch("SELECT * FROM console_users"),
        *await pool.fetch("SELECT * FROM console_sessions"),
    ]
    stored = repr([dict(row) for row in rows]).encode()
    assert secret not in stored and PASSWORD.encode() not in stored and b"$argon2id$" in stored


async def test_a_wrong_name_or_password_is_refused_alike(ana: Caller) -> None:
    wrong, unknown = [await sign_in(Caller(ana.url), name, "wrong password") for name in ("ana", "bo")]
    assert (wrong.status, unknown.status) == (403, 403)
    assert wrong.text == unknown.text


async def test_guessing_is_slowed_down(ana: Caller) -> None:
    statuses = [(await sign_in(Caller(ana.url), "bo", "guess")).status for _ in range(NAME_ATTEMPTS + 1)]
    assert statuses == [403] * NAME_ATTEMPTS + [429]
    reply = await sign_in(Caller(ana.url), "bo", "guess")
    assert int(reply.headers["Retry-After"]) > 0
    assert (await sign_in(Caller(ana.url))).status == 303  # others may go on


async def test_wrong_passwords_of_others_lock_nobody_out(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    """The browser in which ana signed in shows that, also from an address where somebody guesses."""
    await store_user(pool, "ana", Role.SEND, PASSWORD, actor="test")
    async with console(pool, database_url, tmp_path) as url:
        known = (await sign_in(Caller(url))).headers.getall("Set-Cookie")
        cookies = "; ".join(each.partition(";")[0] for each in known if "session" not in each)
        statuses = [(await sign_in(Caller(url), password="guess")).status for _ in range(NAME_ATTEMPTS + 1)]
        assert statuses[-1] == (await sign_in(Caller(url))).status == 429
        assert (await sign_in(Caller(url), Cookie=cookies)).status == 303
        assert (await sign_in(Caller(url), "bo", Cookie=cookies)).status == 403  # it is known for ana alone
    await store_user(pool, "ana", Role.SEND, "another long password", actor="test")
    async with console(pool, database_url, tmp_path) as url:
        for _ in range(NAME_ATTEMPTS):
            await sign_in(Caller(url), password="guess", Cookie=cookies)
        assert (await sign_in(Caller(url), Cookie=cookies)).status == 429  # the proof ended with the password


async def test_a_forged_line_of_a_proxys_header_lifts_no_limit(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    async with console(pool, database_url, tmp_path, console_proxies="127.0.0.1") as url:
        statuses = []
        for n in range(NAME_ATTEMPTS + 1):
            headers = [
                ("X-Forwarded-For", f"203.0.113.{n}"),
                ("X-Forwarded-For", "192.0.2.7"),
                ("Origin", url),
            ]
            async with (
                aiohttp.ClientSession() as session,
                session.post(
                    f"{url}/sign-in", data={"name": "ana", "password": "x"}, headers=headers
                ) as reply,
            ):
                statuses.append(reply.status)
        assert statuses == [403] * NAME_ATTEMPTS + [429]


@pytest.mark.parametrize(
    "then", ["//evil.example", "https://evil.example", "/\\evil.example", "/x\r\nSet-Cookie: a"]
)
async def test_a_link_to_sign_in_leads_nowhere_else(ana: Caller, then: str) -> None:
    credentials = {"name": "ana", "password": PASSWORD}
    headers = {"Origin": ana.url}
    reply = await Caller(ana.url).post("/sign-in", params={"then": then}, data=credentials, headers=headers)
    assert (reply.status, reply.headers["Location"]) == (303, "/")


async def test_every_reply_has_the_headers_that_browsers_obey(ana: Caller) -> None:
    for path in ("/campaigns", "/nothing", "/api/v1/campaigns", "/sign-in", "/live/campaigns/nothing"):
        reply = await ana.get(path)
        assert {name: reply.headers.get(name) for name in HEADERS} == HEADERS, path
        assert reply.headers["Cache-Control"] == "no-store"
    policy = HEADERS["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy


async def test_cookies_are_for_this_server_alone(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    await store_user(pool, "ana", Role.LOOK, PASSWORD, actor="test")
    async with console(pool, database_url, tmp_path) as url:
        cookie = (await sign_in(Caller(url))).headers["Set-Cookie"]
        assert "HttpOnly" in cookie and "SameSite=Lax" in cookie and "Secure" not in cookie
    async with console(pool, database_url, tmp_path, console_url="https://beat.example") as url:
        reply = await sign_in(Caller(url), Host="beat.example", Origin="https://beat.example")
        cookie = reply.headers["Set-Cookie"]
        assert cookie.startswith("__Host-") and "Secure" in cookie
        assert "Strict-Transport-Security" in reply.headers


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1", 200), ("localhost:8082", 200), ("[::1]:8082", 200), ("evil.example", 421)],
)
async def test_without_users_only_this_machines_names_are_answered(url: str, host: str, status: int) -> None:
    """Another site may have a name that leads to 127.0.0.1."""
    assert (await Caller(url).get("/campaigns", headers={"Host": host})).status == status


async def test_a_trusted_proxy_names_the_user(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    await store_user(pool, "ana", Role.LOOK, None, actor="test")
    proxied = {"console_user_header": "X-User", "console_proxies": "127.0.0.0/8"}
    async with console(pool, database_url, tmp_path, **proxied) as url:
        assert (await Caller(url).get("/api/v1/numbers", headers={"X-User": "ana"})).status == 200
        for headers in ({"X-User": "bo"}, {}):
            assert (await Caller(url).get("/api/v1/numbers", headers=headers)).status == 401
    foreign = {"console_user_header": "X-User", "console_proxies": "192.0.2.1"}
    async with console(pool, database_url, tmp_path, **foreign) as url:
        assert (await Caller(url).get("/api/v1/numbers", headers={"X-User": "ana"})).status == 401


async def test_the_last_user_who_goes_leaves_the_console_to_this_machine(pool: Pool, ana: Caller) -> None:
    assert (await Caller(ana.url).get("/campaigns")).status == 303
    await remove_user(pool, "ana", actor="test")
    assert (await Caller(ana.url).get("/campaigns")).status == 200


async def test_without_users_a_proxy_of_this_machine_opens_nothing(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    async with console(pool, database_url, tmp_path, console_url="https://beat.example") as url:
        proxied = await Caller(url).get("/api/v1/numbers", headers={"Host": "beat.example"})
        assert (proxied.status, proxied.code) == (401, "sign_in_needed")
        assert (await Caller(url).get("/api/v1/numbers")).status == 200


def upload(
    *fields: tuple[str, str], content: str = f"phone,name,order\n+{PHONE},Ana,A1\n"
) -> aiohttp.FormData:
    data = aiohttp.FormData()
    for name, value in fields:
        data.add_field(name, value)
    data.add_field("audience", content, filename="people.csv", content_type="text/csv")
    return data


async def test_an_upload_holds_its_token_before_the_file(ana: Caller, tmp_path: Path) -> None:
    token, own = await csrf_of(ana), {"Origin": ana.url}
    assert token not in (await ana.get("/new")).text.replace(f'value="{token}"', "")
    assert (await ana.post("/new", data=upload(("csrf", token)), headers=own)).status == 303
    (stored,) = (tmp_path / "uploads").iterdir()
    for forged in (upload(), upload(("csrf", "0" * 64)), upload(("other", token))):
        assert (await ana.post("/new", data=forged, headers=own)).status in (403, 422)
    in_address = await ana.post("/new", params={"csrf": token}, data=upload(), headers=own)
    assert in_address.status == 422
    assert list((tmp_path / "uploads").iterdir()) == [stored]


async def test_an_upload_that_is_no_form_is_refused_in_words(ana: Caller, manager: Caller) -> None:
    for path in ("/new", "/api/v1/campaigns"):
        headers = {"Content-Type": "multipart/form-data; boundary=x"}
        reply = await manager.post(path, data=b"nothing of a form", headers=headers)
        assert reply.status == 400, path


async def test_what_costs_much_is_limited_for_each_caller(ana: Caller, manager: Caller) -> None:
    path = "/api/v1/campaigns/spring/export?state=failed"
    statuses = [(await manager.get(path)).status for _ in range(EXPORTS.burst + 1)]
    assert statuses == [200] * EXPORTS.burst + [429]
    reply = await manager.get(path)
    assert (reply.code, 0 < int(reply.headers["Retry-After"]) <= EXPORTS.refill_s) == (
        "too_many_requests",
        True,
    )
    assert (await ana.get("/campaigns/spring/export")).status == 200  # another caller
    assert (await manager.get("/api/v1/campaigns/spring")).status == 200  # what costs little
    path = "/api/v1/lists/0/check"
    statuses = [(await manager.post(path, json={})).status for _ in range(LIST_CHECKS.burst + 1)]
    assert statuses == [404] * LIST_CHECKS.burst + [429]


async def test_calls_of_the_service_are_limited_for_all_callers_together(pool: Pool, manager: Caller) -> None:
    """The service counts them for the account."""
    path, other = "/api/v1/numbers/sync", await add_token(pool, "other", Role.SEND, actor="test")
    callers = [manager, Caller(manager.url, other)]
    statuses = [(await callers[turn % 2].post(path)).status for turn in range(SERVICE_CALLS.burst + 2)]
    assert statuses == [422] * SERVICE_CALLS.burst + [429, 429]  # no service is configured


async def test_many_wrong_tokens_of_an_address_are_slowed_down_and_right_ones_not(manager: Caller) -> None:
    path, wrong = "/api/v1/numbers", Caller(manager.url, "wrong")
    assert (await manager.get(path)).status == 200
    statuses = {(await wrong.get(path)).status for _ in range(TOKEN_FAILURES.burst + 5)}
    reply = await wrong.get(path)
    assert (statuses, reply.status, reply.headers["Retry-After"]) == ({401, 429}, 429, "1")
    assert (await manager.get(path)).status == 200
