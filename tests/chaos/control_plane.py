"""HTTP requests to the emulator's control plane."""

from collections.abc import Mapping
from typing import Any

import aiohttp

TIMEOUT_S = 60.0


class ControlPlane:
    """One session with one running emulator."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.session = aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=TIMEOUT_S))

    async def close(self) -> None:
        await self.session.close()

    async def get(self, path: str) -> dict[str, Any]:
        async with self.session.get(f"{self.url}/_emulator/{path}") as reply:
            reply.raise_for_status()
            found: dict[str, Any] = await reply.json()
            return found

    async def post(self, path: str, body: Mapping[str, object]) -> None:
        async with self.session.post(f"{self.url}/_emulator/{path}", json=body) as reply:
            reply.raise_for_status()

    async def delete(self, path: str) -> None:
        async with self.session.delete(f"{self.url}/_emulator/{path}") as reply:
            reply.raise_for_status()
