"""Methods and statuses: HEAD wherever GET is, 405 with what is allowed, and 401 for programs without a token."""

import pytest

from drumbeat.campaigns.console.routes import routes
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import store_user
from drumbeat.engine.store.database import Pool
from tests.console.conftest import PHONE, Caller
from tests.console.test_roles import VALUES

WITH_CAMPAIGN = {**VALUES, "name": "spring", "phone": str(PHONE)}
GETS = [each.path.format(**WITH_CAMPAIGN) for each in routes() if each.method == "GET"]


async def test_head_answers_as_get_without_a_body(manager: Caller) -> None:
    """Streams and exports too: what takes long is not made for a head."""
    for path in GETS:
        get, head = await manager.get(path), await manager("HEAD", path)
        assert (head.status, head.text) == (get.status, ""), path
        assert head.headers.get("Content-Type") == get.headers.get("Content-Type"), path


async def test_the_head_of_an_export_is_no_export(manager: Caller, pool: Pool) -> None:
    for path in ("/api/v1/campaigns/spring/export", "/api/v1/suppressions/export"):
        assert (await manager("HEAD", path)).status == 200
    assert await pool.fetchval("SELECT count(*) FROM audit WHERE action LIKE '%export'") == 0


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("POST", "/api/v1/numbers", {"GET", "HEAD"}),
        ("PUT", "/api/v1/campaigns/spring", {"GET", "HEAD", "PATCH", "DELETE"}),
        ("DELETE", "/sign-in", {"GET", "HEAD", "POST"}),
        ("HEAD", "/api/v1/campaigns/spring/pause", {"POST"}),
        ("OPTIONS", "/campaigns", {"GET", "HEAD"}),
    ],
)
async def test_a_method_that_is_not_taken_is_told_which_are(
    manager: Caller, method: str, path: str, allowed: set[str]
) -> None:
    reply = await manager(method, path)
    assert (reply.status, set(reply.headers["Allow"].split(", "))) == (405, allowed)


async def test_a_program_without_a_token_is_told_to_send_one(pool: Pool, url: str) -> None:
    """Whatever it asks, and with or without the Origin that browsers send."""
    await store_user(pool, "ana", Role.LOOK, None, actor="test")
    stranger = Caller(url)
    for route in routes():
        if route.role is not None and route.path.startswith("/api/v1"):
            path = route.path.format(**VALUES)
            for headers in ({}, {"Origin": url}, {"Origin": "https://evil.example"}):
                reply = await stranger(route.method, path, headers=headers)
                assert (reply.status, reply.code) == (401, "sign_in_needed"), path
                assert reply.headers["WWW-Authenticate"] == "Bearer"
