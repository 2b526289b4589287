"""What each role may not do, written out: a route that is added must be added here."""

import re
from typing import NamedTuple

import pytest

from drumbeat.campaigns.console.routes import routes
from drumbeat.campaigns.console.web.roles import Role, permits
from drumbeat.campaigns.console.web.users import store_user
from drumbeat.engine.store.database import Pool
from tests.console.conftest import Caller
from tests.console.plain_browser import PASSWORD

# Everything else may be done by whoever sees figures.
ONLY_LOOK = {
    "GET /api/v1/campaigns/{name}/recipients",
    "GET /api/v1/campaigns/{name}/export",
    "GET /api/v1/campaigns/{name}/preview",
    "GET /api/v1/campaigns/{name}/plan",
    "GET /api/v1/campaigns/{name}/replies",
    "GET /api/v1/replies",
    "GET /api/v1/people/{phone}",
    "GET /api/v1/suppressions",
    "GET /api/v1/suppressions/export",
    "GET /api/v1/events",
    "GET /api/v1/audit",
    "GET /campaigns/{name}/recipients",
    "GET /campaigns/{name}/export",
    "GET /campaigns/{name}/exports",
    "GET /campaigns/{name}/message",
    "GET /campaigns/{name}/replies",
    "GET /replies",
    "GET /people",
    "GET /people/{phone}",
    "GET /suppression",
    "GET /suppression/export",
    "GET /audit",
}
ONLY_SEND = {
    "POST /api/v1/campaigns",
    "POST /api/v1/messages",
    "POST /api/v1/lists",
    "POST /api/v1/lists/{reference}/check",
    "POST /api/v1/lists/{reference}/corrections",
    "POST /api/v1/lists/{reference}/campaign",
    "DELETE /api/v1/lists/{reference}",
    "POST /api/v1/campaigns/{name}/start",
    "POST /api/v1/campaigns/{name}/pause",
    "POST /api/v1/campaigns/{name}/resume",
    "POST /api/v1/campaigns/{name}/accept-category",
    "POST /api/v1/campaigns/{name}/approve",
    "POST /api/v1/campaigns/{name}/cancel",
    "POST /api/v1/campaigns/{name}/test-sends",
    "POST /api/v1/campaigns/{name}/retries",
    "POST /api/v1/campaigns/{name}/clones",
    "PATCH /api/v1/campaigns/{name}",
    "DELETE /api/v1/campaigns/{name}",
    "POST /api/v1/campaigns/{name}/doubts",
    "POST /api/v1/campaigns/{name}/suppressions",
    "POST /api/v1/numbers/{number}/resume",
    "POST /api/v1/suppressions",
    "POST /api/v1/suppressions/import",
    "POST /suppression/import",
    "GET /suppression/import/{reference}",
    "POST /suppression/import/{reference}",
    "GET /live/suppression/import/{reference}",
    "GET /suppression/import/{reference}/rejects",
    "POST /api/v1/numbers/sync",
    "POST /api/v1/templates",
    "POST /api/v1/templates/sync",
    "DELETE /api/v1/templates/{name}",
    "GET /templates/{name}/delete",
    "POST /templates/{name}/delete",
    "GET /campaigns/{name}/ask/{action}",
    *(
        f"{method} /campaigns/{{name}}/{action}"
        for method in ("GET", "POST")
        for action in ("retry", "settle", "approve", "delete", "edit", "clone", "suppress")
    ),
    "POST /campaigns/{name}/act/{action}",
    "POST /campaigns/{name}/test",
    "GET /new",
    "POST /new",
    "GET /new/{reference}",
    "POST /new/{reference}",
    "GET /new/{reference}/exclusions",
    "POST /new/{reference}/exclusions",
    "POST /new/{reference}/exclusions/remove",
    "GET /new/{reference}/rows",
    "POST /new/{reference}/rows",
    "GET /new/{reference}/rows/download",
    "GET /live/new/{reference}/rows",
    "POST /new/{reference}/template",
    "POST /new/{reference}/header",
    "GET /new/{reference}/message",
    "POST /new/{reference}/message",
    "GET /new/{reference}/sending",
    "POST /new/{reference}/sending",
    "GET /live/new/{reference}/sending",
    "GET /campaigns/{name}/launch",
    "POST /campaigns/{name}/launch",
    "GET /live/campaigns/{name}/launch",
    "POST /numbers/{number}/resume",
    "POST /numbers/sync",
    "POST /templates/sync",
    "GET /work/{reference}",
    "GET /live/work/{reference}",
    "GET /api/v1/jobs/{reference}",
    "GET /new-template",
    "POST /new-template",
    "POST /new-template/preview",
    "POST /suppression",
}
ONLY_MANAGE = {
    "PUT /api/v1/numbers/{number}/limit",
    "DELETE /api/v1/people/{phone}",
    "GET /people/{phone}/erase",
    "POST /people/{phone}/erase",
    "GET /erased/{pseudonym}",
    "DELETE /api/v1/suppressions/{phone}",
    "GET /api/v1/users",
    "PUT /api/v1/users/{name}",
    "DELETE /api/v1/users/{name}",
    "DELETE /api/v1/users/{name}/sessions",
    "GET /api/v1/subscriptions",
    "GET /api/v1/subscriptions/{name}",
    "POST /api/v1/subscriptions",
    "DELETE /api/v1/subscriptions/{name}",
    "GET /api/v1/tokens",
    "POST /api/v1/tokens",
    "DELETE /api/v1/tokens/{name}",
    "POST /numbers/{number}/limit",
    "GET /users",
    "POST /users",
    "GET /users/{name}",
    "POST /users/{name}",
    "POST /users/{name}/sign-out",
    "GET /users/{name}/remove",
    "POST /users/{name}/remove",
    "GET /tokens",
    "POST /tokens",
    "GET /tokens/{name}/remove",
    "POST /tokens/{name}/remove",
    "POST /suppression/remove",
}
EVERYBODY = {
    "GET /api/v1/openapi.json",
    "GET /sign-in",
    "POST /sign-in",
    "GET /sign-in/provider",
    "GET /sign-in/provider/callback",
    "POST /language",
    "GET /static/{version}/{file}",
}
FORBIDDEN = {
    Role.FIGURES: ONLY_LOOK | ONLY_SEND | ONLY_MANAGE,
    Role.LOOK: ONLY_SEND | ONLY_MANAGE,
    Role.SEND: ONLY_MANAGE,
    Role.MANAGE: set(),
}
VALUES = {
    "name": "x",
    "pseudonym": "x",
    "number": "9",
    "phone": "5511960000000",
    "action": "x",
    "version": "0",
    "file": "x.css",
    "reference": "0",
}


class Asked(NamedTuple):
    """A route, with values that exist nowhere."""

    name: str
    method: str
    path: str


ALL = [Asked(f"{each.method} {each.path}", each.method, each.path.format(**VALUES)) for each in routes()]


HEADS = [
    Asked(each.name.replace("GET", "HEAD", 1), "HEAD", each.path) for each in ALL if each.method == "GET"
]


async def refused_to(caller: Caller, routes: list[Asked]) -> set[str]:
    """The routes that the caller may not use. No route fails, whoever asks it for what does not exist."""
    refused = set()
    for route in routes:
        reply = await caller(route.method, route.path)
        assert reply.status not in (401, 405) and reply.status < 500, (route.name, reply.status)
        if reply.status == 403:
            refused.add(route.name)
    return refused


KNOWN = [each for each in ALL if each.name not in EVERYBODY]


@pytest.mark.parametrize("role", Role)
async def test_what_a_role_may_not_do_is_refused(callers: dict[Role, Caller], role: Role) -> None:
    assert await refused_to(callers[role], KNOWN) == FORBIDDEN[role]


@pytest.mark.parametrize("role", Role)
async def test_the_head_of_a_page_needs_the_role_of_the_page(callers: dict[Role, Caller], role: Role) -> None:
    wanted = {name.replace("GET", "HEAD", 1) for name in FORBIDDEN[role] if name.startswith("GET")}
    assert await refused_to(callers[role], HEADS) == wanted


@pytest.mark.parametrize("role", Role)
async def test_a_session_may_do_what_a_token_of_its_role_may(pool: Pool, url: str, role: Role) -> None:
    """With the token of its pages, in a header; what ends the session or changes its user comes last."""
    await store_user(pool, "ana", role, PASSWORD, actor="test")
    browser = Caller(url)
    entered = await browser.post(
        "/sign-in", data={"name": "ana", "password": PASSWORD}, headers={"Origin": url}
    )
    browser.headers = {"Cookie": entered.headers["Set-Cookie"].partition(";")[0], "Origin": url}
    found = re.search(r'name="csrf" value="(\w+)"', (await browser.get("/campaigns")).text)
    assert found is not None
    browser.headers["X-CSRF-Token"] = found[1]
    assert (
        await refused_to(browser, [each for each in KNOWN if each.name != "POST /sign-out"])
        == FORBIDDEN[role]
    )


@pytest.mark.parametrize("role", Role)
async def test_a_session_changes_nothing_without_the_token_of_its_pages(
    pool: Pool, url: str, role: Role
) -> None:
    await store_user(pool, "ana", role, PASSWORD, actor="test")
    browser = Caller(url)
    entered = await browser.post(
        "/sign-in", data={"name": "ana", "password": PASSWORD}, headers={"Origin": url}
    )
    browser.headers = {"Cookie": entered.headers["Set-Cookie"].partition(";")[0], "Origin": url}
    changes = [each for each in KNOWN if each.method != "GET"]
    assert await refused_to(browser, changes) == {each.name for each in changes}


async def test_who_is_not_known_may_do_nothing(pool: Pool, url: str) -> None:
    await store_user(pool, "ana", Role.LOOK, None, actor="test")
    stranger, allowed = Caller(url), set()
    for route in [*ALL, *HEADS]:
        reply = await stranger(route.method, route.path, headers={"Origin": url})
        to_sign_in = reply.status == 303 and reply.headers["Location"].startswith("/sign-in")
        if not (to_sign_in or reply.status == 401):
            allowed.add(route.name)
    heads = {each.replace("GET", "HEAD", 1) for each in EVERYBODY if each.startswith("GET")}
    assert allowed == EVERYBODY | heads


@pytest.mark.parametrize("token", ["", "wrong", "of-manage"])
async def test_a_wrong_token_is_no_token(url: str, callers: dict[Role, Caller], token: str) -> None:
    reply = await Caller(url).get("/api/v1/numbers", headers={"Authorization": f"Bearer {token}"})
    assert (reply.status, reply.code) == (401, "sign_in_needed")


@pytest.mark.parametrize(
    ("role", "needed", "permitted"),
    [
        (Role.FIGURES, Role.LOOK, False),
        (Role.LOOK, Role.FIGURES, True),
        (Role.LOOK, Role.LOOK, True),
        (Role.LOOK, Role.SEND, False),
        (Role.SEND, Role.LOOK, True),
        (Role.SEND, Role.MANAGE, False),
        (Role.MANAGE, Role.SEND, True),
        (Role.MANAGE, Role.MANAGE, True),
    ],
)
def test_a_role_may_do_what_the_ones_before_it_may(role: Role, needed: Role, permitted: bool) -> None:
    assert permits(role, needed) is permitted
