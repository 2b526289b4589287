"""A user's own password: the present one is asked, other sessions end, and nobody guesses it."""

import re

import pytest

from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.sign_in_limit import NAME_ATTEMPTS
from drumbeat.campaigns.console.web.users import store_user
from drumbeat.engine.store.database import Pool
from tests.console.plain_browser import PASSWORD, Browser, browser_of

NEW = "another long password"
GIVEN = {"present": PASSWORD, "password": NEW, "again": NEW}


@pytest.fixture
async def ana(pool: Pool, url: str) -> Browser:
    await store_user(pool, "ana", Role.LOOK, PASSWORD, actor="test")
    return await browser_of(url, "ana")


async def test_a_user_changes_the_password_and_other_sessions_end(ana: Browser, pool: Pool, url: str) -> None:
    elsewhere = await browser_of(url, "ana")
    reply = await ana.send("/password", GIVEN)
    assert reply.status == 303
    assert "Your password is changed" in (await ana.get(reply.headers["Location"])).text
    assert (await elsewhere.get("/campaigns")).status == 303, "it has to sign in again"
    await browser_of(url, "ana", NEW)
    assert await pool.fetchval("SELECT actor FROM audit WHERE action = 'password-change'") == "ana"


@pytest.mark.parametrize(
    ("changed", "status", "words"),
    [
        ({"present": "not the right one"}, 403, "present password is wrong"),
        ({"again": "typed otherwise"}, 422, "same twice"),
        ({"password": "short", "again": "short"}, 422, "12 characters"),
    ],
)
async def test_a_wrong_change_changes_nothing(
    ana: Browser, url: str, changed: dict[str, str], status: int, words: str
) -> None:
    reply = await ana.send("/password", {**GIVEN, **changed})
    assert reply.status == status and words in reply.text
    assert not re.search(f'value="({PASSWORD}|{NEW})"', reply.text)
    await browser_of(url, "ana")


async def test_an_open_session_does_not_help_to_guess_the_password(ana: Browser) -> None:
    wrong = {**GIVEN, "present": "not the right one"}
    replies = [await ana.send("/password", wrong) for _ in range(NAME_ATTEMPTS + 1)]
    assert [reply.status for reply in replies] == [403] * NAME_ATTEMPTS + [429]


async def test_who_has_no_password_here_cannot_change_one(url: str) -> None:
    machine = await browser_of(url)
    assert (await machine.get("/password")).status == 404
    assert "/password" not in (await machine.get("/campaigns")).text
