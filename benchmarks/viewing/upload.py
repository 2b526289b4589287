"""The audience that somebody uploaded, so that the views of a new campaign have something to show."""

from __future__ import annotations

import aiohttp

ROWS = 1_000
_AUDIENCE = "phone,name,order\n" + "".join(f"+{5511960000000 + row},Ana,A-{row}\n" for row in range(ROWS))


async def upload(session: aiohttp.ClientSession, url: str) -> str:
    """Upload it as the page does; return its reference. The session has a token that may send."""
    form = aiohttp.FormData()
    form.add_field("audience", _AUDIENCE, filename="people.csv", content_type="text/csv")
    async with session.post(f"{url}/new", data=form, allow_redirects=False) as reply:
        return reply.headers["Location"].rpartition("/")[2]
