"""Users and tokens on the pages: who manages them, what is shown once, and that somebody always manages."""

import asyncio
import re

import pytest

from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import add_token, list_users, remove_user, store_user
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Pool
from tests.console.plain_browser import PASSWORD, Browser, browser_of

NEW = {"name": "bo", "role": "look", "password": "another long password"}


@pytest.fixture
async def boss(pool: Pool, url: str) -> Browser:
    """A browser in which a user signed in who manages."""
    await store_user(pool, "boss", Role.MANAGE, PASSWORD, actor="test")
    return await browser_of(url, "boss")


async def test_a_user_is_added_changed_signed_out_and_removed(pool: Pool, boss: Browser, url: str) -> None:
    assert (await boss.send("/users", NEW)).status == 303
    bo = await browser_of(url, "bo", NEW["password"])
    assert (await bo.get("/users")).status == 403
    assert (await boss.send("/users/bo", {"role": "manage"})).status == 303
    assert (await bo.get("/users")).status == 200
    assert "1 open sessions" in (await boss.get("/users/bo")).text
    await boss.send("/users/bo/sign-out")
    assert (await bo.get("/users")).status == 303
    assert (await boss.send("/users/bo/remove")).headers["Location"] == "/users"
    assert [user.name for user in await list_users(pool)] == ["boss"]
    actors = {row["actor"] for row in await pool.fetch("SELECT actor FROM audit WHERE action LIKE 'user-%'")}
    assert actors == {"test", "boss"}


@pytest.mark.parametrize(
    "changed", [{"name": "b o"}, {"password": "short"}, {"role": "king"}, {"name": "boss"}]
)
async def test_a_user_who_cannot_be_added_stays_in_the_form(
    pool: Pool, boss: Browser, changed: dict[str, str]
) -> None:
    given = {**NEW, **changed}
    reply = await boss.send("/users", given)
    assert reply.status == 422 and 'role="alert"' in reply.text
    assert f'value="{given["name"]}"' in reply.text and given["password"] not in reply.text
    assert [user.name for user in await list_users(pool)] == ["boss"]


@pytest.mark.parametrize(
    ("path", "fields"),
    [("/users/boss/remove", {}), ("/users/boss", {"role": "send"})],
)
async def test_the_last_who_manages_stays(
    pool: Pool, boss: Browser, path: str, fields: dict[str, str]
) -> None:
    await boss.send("/users", NEW)
    reply = await boss.send(path, fields)
    assert reply.status == 422 and "nobody would be left" in reply.text
    assert (await boss.get("/users")).status == 200
    await boss.send("/users/bo", {"role": "manage"})
    assert (await boss.send(path, fields)).status == 303


async def test_two_who_manage_cannot_remove_each_other(pool: Pool) -> None:
    for name in ("ana", "bo"):
        await store_user(pool, name, Role.MANAGE, None, actor="test")
    done = await asyncio.gather(
        *(remove_user(pool, name, actor="test", keeps_manager=True) for name in ("ana", "bo")),
        return_exceptions=True,
    )
    assert sorted(type(each) for each in done if each is not None) == [UsageError]
    assert len(await list_users(pool)) == 1


async def test_the_first_user_of_all_must_manage(pool: Pool, url: str) -> None:
    here = await browser_of(url)
    assert (await here.send("/users", NEW)).status == 422
    assert (await here.send("/users", {**NEW, "role": "manage"})).status == 303
    assert (await here.get("/users")).headers["Location"].startswith("/sign-in")


async def test_a_token_is_shown_once_and_is_good_until_it_is_removed(pool: Pool, boss: Browser) -> None:
    made = await boss.send("/tokens", {"name": "reports", "role": "look"})
    secret = re.search(r'id="secret">([\w-]+)<', made.text)
    assert made.status == 201 and secret is not None
    assert made.headers["Cache-Control"] == "no-store"
    program = {"Authorization": f"Bearer {secret[1]}"}
    assert (await boss.caller.get("/api/v1/numbers", headers=program)).status == 200
    again = await boss.send("/tokens", {"name": "reports", "role": "look"})
    assert again.status == 422 and secret[1] not in again.text + (await boss.get("/tokens")).text
    assert (await boss.get("/tokens/reports/remove")).status == 200
    await boss.send("/tokens/reports/remove")
    assert (await boss.caller.get("/api/v1/numbers", headers=program)).status == 401


async def test_a_token_that_may_send_cannot_make_itself_more(pool: Pool, url: str) -> None:
    program = {"Authorization": f"Bearer {await add_token(pool, 'sender', Role.SEND, actor='test')}"}
    caller = (await browser_of(url)).caller
    for path, fields in (("/tokens", {"name": "x", "role": "manage"}), ("/users", NEW)):
        assert (await caller.post(path, data=fields, headers=program)).status == 403
