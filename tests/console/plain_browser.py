"""A browser without a script: it keeps its cookie and sends forms with the token of the page."""

import re
from dataclasses import dataclass
from typing import Any

import aiohttp

from tests.console.conftest import Caller, Reply

PASSWORD = "a long enough password"


@dataclass
class Browser:
    """Pages and forms of one session. `caller`: the same without its cookie."""

    caller: Caller
    headers: dict[str, str]

    async def get(self, path: str, **options: Any) -> Reply:
        return await self.caller.get(path, headers=self.headers, **options)

    async def token(self) -> str:
        found = re.search(r'name="csrf" value="(\w+)"', (await self.get("/campaigns/spring")).text)
        assert found is not None
        return found[1]

    async def send(self, path: str, fields: dict[str, str] | None = None) -> Reply:
        """A form. An empty field is sent too, as browsers do."""
        return await self._post(path, {"csrf": await self.token(), **(fields or {})})

    async def upload(
        self, path: str, content: str | bytes, fields: dict[str, str] | None = None, *, name: str = "list.csv"
    ) -> Reply:
        """A form with a file, which comes last."""
        data = aiohttp.FormData()
        for key, value in {"csrf": await self.token(), **(fields or {})}.items():
            data.add_field(key, value)
        data.add_field("file", content, filename=name, content_type="application/octet-stream")
        return await self._post(path, data)

    async def _post(self, path: str, data: Any) -> Reply:
        return await self.caller.post(path, data=data, headers={**self.headers, "Origin": self.caller.url})


async def browser_of(url: str, name: str = "", password: str = PASSWORD) -> Browser:
    """Signed in as a user; without a name, on the machine of a console without users."""
    caller = Caller(url)
    if not name:
        return Browser(caller, {})
    given = {"name": name, "password": password}
    reply = await caller.post("/sign-in", data=given, headers={"Origin": url})
    assert reply.status == 303, reply.text
    return Browser(caller, {"Cookie": reply.headers["Set-Cookie"].partition(";")[0]})
