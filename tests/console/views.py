"""Every view of the console, found by its routes: who adds a page need not name it here.

A page whose address has a placeholder that is not in `FILLED` fails the tests of views.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import NamedTuple

import aiohttp

from drumbeat.campaigns.console.routes import routes
from drumbeat.campaigns.console.web.operations import PREFIX

# What stands for the beginning of a route; the longest that fits counts. Several: a page that differs much.
FILLED: Mapping[str, tuple[str, ...]] = {
    "/campaigns/{name}": ("/campaigns/spring",),
    "/campaigns/{name}/results": ("/campaigns/spring/results", "/campaigns/spring/results?by=number"),
    "/campaigns/{name}/ask/{action}": ("/campaigns/spring/ask/cancel",),
    "/templates/{name}": ("/templates/order",),
    "/people/{phone}": ("/people/5511960000000",),
    "/users/{name}": ("/users/ana",),
    "/tokens/{name}": ("/tokens/reports",),
    "/sign-in/provider": (),  # of a console that has one: tests/console/test_sign_in_provider.py
    "/work/{reference}": (),  # of what somebody began: tests/console/test_long_work.py
    "/erased/{pseudonym}": (),  # of a person whom somebody erased: tests/console/test_erasing.py
}


class View(NamedTuple):
    """`name`: of its picture."""

    name: str
    address: str


SIGN_IN = View("sign-in", "/sign-in")  # it redirects who has signed in
NOT_FOUND = View("problem", "/nothing")


async def views(
    url: str, filled: Mapping[str, tuple[str, ...]], headers: Mapping[str, str]
) -> AsyncIterator[View]:
    """Each page that who sends the headers may see. `filled`: what FILLED does not have, or has otherwise."""
    async with aiohttp.ClientSession(url, headers=headers) as session:
        for route in routes():
            if route.method != "GET" or route.path.startswith(PREFIX):
                continue
            for view in named(route.path, {**FILLED, **filled}):
                async with session.get(view.address, allow_redirects=False) as reply:
                    assert reply.status < 400, f"{view.address}: {reply.status}"
                    is_file = "Content-Disposition" in reply.headers
                    if reply.status == 200 and reply.content_type == "text/html" and not is_file:
                        yield view
    yield NOT_FOUND


def named(route: str, filled: Mapping[str, tuple[str, ...]]) -> list[View]:
    """The views of a route; none for files and streams, which show nothing themselves."""
    if route.startswith(("/static/", "/live/")):
        return []
    beginning = max((part for part in filled if f"{route}/".startswith(f"{part}/")), key=len, default="")
    found = []
    for value in filled.get(beginning, ("",)):
        address = value + route.removeprefix(beginning)
        assert "{" not in address, f"name a value for {route} in FILLED"
        found.append(View(_name(route, address), address))
    return found


def _name(route: str, address: str) -> str:
    """The parts of the route; a placeholder is "one", an action its own name."""
    shown = address.strip("/").replace("?by=", "-by-").split("/")
    pairs = zip(route.strip("/").split("/"), shown, strict=True)
    if route == "/":
        return "home"
    return "-".join("one" if part.startswith("{") and part != "{action}" else value for part, value in pairs)
