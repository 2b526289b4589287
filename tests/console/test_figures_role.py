"""The role that sees figures: nothing that it may ask for holds a phone, a name or a text of a person."""

import asyncio
import re
from urllib.parse import quote

import aiohttp
import pytest

from drumbeat.campaigns.console.routes import routes
from drumbeat.campaigns.console.web.context import Route
from drumbeat.campaigns.console.web.roles import Role, permits
from drumbeat.engine.store.database import Pool
from tests.console.conftest import PHONE, Caller

OF_PEOPLE = re.compile(rf"{str(PHONE)[:-1]}\d|Ana\b|Thank you|secret note")
STREAM_S_MAX = 20.0
MAY = [
    each
    for each in routes()
    if each.method == "GET" and each.role is not None and permits(Role.LOOK, each.role)
]
ASKED = ("/", "?by=code", "?by=number", "?by=country", "?tests=true", "?before=9999999", "?limit=1")


async def text_of(caller: Caller, path: str) -> tuple[int, str]:
    """Return the status and the text of a reply; of a stream, the first event."""
    async with (
        aiohttp.ClientSession(headers=caller.headers, auto_decompress=True) as session,
        session.get(caller.url + path, allow_redirects=True) as reply,
        asyncio.timeout(STREAM_S_MAX),
    ):
        if reply.content_type != "text/event-stream":
            return reply.status, f"{reply.headers}{(await reply.read()).decode('utf-8', 'replace')}"
        return reply.status, (await reply.content.readuntil(b"\n\n")).decode()


def addresses(route: Route, names: list[str]) -> list[str]:
    """Return what a route is asked with: every campaign, and every person, also as a query."""
    if "{name}" in route.path and "campaigns" in route.path:
        paths = [route.path.replace("{name}", quote(name)) for name in names]
    else:
        paths = [route.path.format_map({"name": "order", "phone": str(PHONE), "reference": "0"})]
    return [path + query.removeprefix("/") for path in paths for query in ASKED]


@pytest.fixture
async def names(callers: dict[Role, Caller], pool: Pool, campaign: str) -> list[str]:
    """Campaigns that know people in other ways too: a test, one message, a note in the audit."""
    manager = callers[Role.MANAGE]
    sent = await manager.post(
        f"/api/v1/campaigns/{campaign}/test-sends",
        json={"phones": [f"+{PHONE + 5}"]},
        headers={"Idempotency-Key": "a"},
    )
    assert sent.status == 201, sent.text
    await manager.post(
        "/api/v1/suppressions", json={"phones": [f"+{PHONE + 6}"], "reason": "secret note of Ana"}
    )
    assert (await manager.post(f"/api/v1/campaigns/{campaign}/pause")).status == 200
    return [row["name"] for row in await pool.fetch("SELECT name FROM campaigns")]


async def asked(caller: Caller, names: list[str]) -> tuple[set[str], set[str]]:
    """Ask every route for everything; return those that answered, and those that told of people."""
    answered, told = set(), set()
    for route in MAY:
        for address in addresses(route, names):
            status, text = await text_of(caller, address)
            assert status < 500, address
            if status == 200:
                answered.add(route.path)
            if OF_PEOPLE.search(
                text.replace(str(PHONE), "") if str(PHONE) in address and status == 403 else text
            ):
                told.add(route.path)
    return answered, told


async def test_nothing_that_it_sees_is_of_a_person(callers: dict[Role, Caller], names: list[str]) -> None:
    answered, told = await asked(callers[Role.FIGURES], names)
    assert told == set()
    assert {"/campaigns", "/campaigns/{name}", "/campaigns/{name}/results", "/numbers"} <= answered
    assert {"/api/v1/campaigns/{name}", "/api/v1/campaigns/{name}/report"} <= answered


async def test_whoever_may_look_sees_people(callers: dict[Role, Caller], names: list[str]) -> None:
    """The same questions find the data that the other role must not see."""
    _, told = await asked(callers[Role.LOOK], names)
    assert {
        "/campaigns/{name}/recipients",
        "/campaigns/{name}/message",
        "/campaigns/{name}/export",
        "/people/{phone}",
        "/replies",
        "/suppression",
        "/api/v1/campaigns/{name}/preview",
        "/api/v1/suppressions/export",
    } <= told


async def test_its_pages_offer_nothing_of_people(callers: dict[Role, Caller], names: list[str]) -> None:
    offered = {
        role: set(re.findall(r'href="(/[^"?#]+)"', (await callers[role].get("/campaigns/spring")).text))
        for role in (Role.FIGURES, Role.LOOK)
    }
    people = {"/people", "/replies", "/suppression", "/audit"}
    people |= {f"/campaigns/spring/{page}" for page in ("message", "exports")}
    assert people <= offered[Role.LOOK]
    assert not people & offered[Role.FIGURES]
