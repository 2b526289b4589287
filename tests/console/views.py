"""Every view of the console, found by its routes: who adds a page need not name it here.

A page whose address has a placeholder that is not in `FILLED` fails the tests of views.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Mapping

import aiohttp

from campaigns.console.pages.routes import PAGES

# What stands for the beginning of a route; the longest that fits counts. Several: a page that differs much.
FILLED: Mapping[str, tuple[str, ...]] = {
    "/campaigns/{name}": ("/campaigns/spring",),
    "/campaigns/{name}/ask/{action}": ("/campaigns/spring/ask/start", "/campaigns/spring/ask/cancel"),
    "/templates/{name}": ("/templates/order",),
    "/people/{phone}": ("/people/5511960000000",),
}
NOT_FOUND = "/nothing"


async def views(
    url: str, filled: Mapping[str, tuple[str, ...]], headers: Mapping[str, str] | None = None
) -> AsyncIterator[str]:
    """The address of each page. `filled`: what stands for routes that FILLED does not have, or has otherwise."""
    async with aiohttp.ClientSession(url, headers=headers) as session:
        for route in PAGES:
            if route.method != "GET":
                continue
            for address in addresses(route.path, {**FILLED, **filled}):
                async with session.get(address, allow_redirects=False) as reply:
                    assert reply.status < 400, f"{address}: {reply.status}"
                    if reply.status == 200 and reply.content_type == "text/html":
                        yield address
    yield NOT_FOUND


def addresses(route: str, filled: Mapping[str, tuple[str, ...]]) -> list[str]:
    """What the route may be asked as; nothing for files and streams, which show nothing themselves."""
    if route.startswith(("/static/", "/live/")):
        return []
    beginning = max((part for part in filled if _is_beginning(part, route)), key=len, default="")
    found = [value + route.removeprefix(beginning) for value in filled.get(beginning, ("",))]
    for address in found:
        assert not re.search(r"\{", address), f"name a value for {route} in FILLED"
    return found


def _is_beginning(part: str, route: str) -> bool:
    return route == part or route.startswith(f"{part}/")
