"""The calls of the client: each is one HTTP request within the budget, and returns one JSON object."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import aiohttp
import orjson

from drumbeat.engine.api.call_budget import CALLS_PER_HOUR, CallBudget
from drumbeat.engine.api.proxy import proxy_of
from drumbeat.engine.api.service_error import ServiceError, minutes, refusal
from drumbeat.engine.api.transport import CONNECT_S_MAX
from drumbeat.engine.api.trust import CA_REMEDY, is_distrusted
from drumbeat.engine.errors import ConfigurationError, TryLater, Unreachable
from drumbeat.engine.system_error import system_error_text

ANSWER_BYTES_MAX = 8 * 1024 * 1024
TRANSFER_S_MAX = 1800.0  # 100 MB, the largest file, at half a megabit a second
CHUNK_BYTES = 64 * 1024
DOWNLOAD = "the download of a file"
IN_DOUBT = "the service may have carried the call out: look before you repeat it"


class Caller:
    """The connections, the token and the budget of one client.

    `wait_s_max` is the longest time that a call may wait for the budget. A longer wait raises TryLater, which
    names the wait.
    """

    def __init__(
        self,
        base_url: str,
        token: str,
        api_version: str,
        budget: CallBudget,
        *,
        wait_s_max: float,
        call_s: float,
        proxy: str | None,
        tls: ssl.SSLContext | None,
    ) -> None:
        self._base_url = base_url
        self._root = f"{base_url.rstrip('/')}/{api_version}"
        self._budget = budget
        self._wait_s_max = wait_s_max
        self._proxy = proxy_of(proxy, base_url)
        # Sent with each request. aiohttp would send headers of the session to the proxy too.
        self._headers = {"Authorization": f"Bearer {token}", **self._proxy.request_headers}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=4, ssl=tls or True),
            timeout=aiohttp.ClientTimeout(total=call_s, connect=CONNECT_S_MAX),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=self._proxy.url,
        )
        self._transfer = aiohttp.ClientTimeout(total=TRANSFER_S_MAX, connect=CONNECT_S_MAX)

    async def close(self) -> None:
        await self._session.close()

    async def manage(
        self, method: str, path: str, *, query: Mapping[str, str] | None = None, content: object = None
    ) -> dict[str, Any]:
        """Call the management API as `call` does, and spend one call of the budget."""
        while wait_s := await self._budget.spend():
            if wait_s > self._wait_s_max:
                raise TryLater(
                    f"the {CALLS_PER_HOUR} management calls of this hour are used up",
                    where=path,
                    remedy=f"try again in {minutes(wait_s)}",
                    wait_s=wait_s,
                )
            await asyncio.sleep(wait_s)
        return await self.call(method, path, query=query, content=content)

    async def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        content: object = None,
        form: aiohttp.FormData | None = None,
    ) -> dict[str, Any]:
        """Return the JSON object that answers one request.

        Raises ServiceError if the service refuses, and Unreachable if it does not answer.
        """
        json = None if content is None else orjson.dumps(content)
        headers = {"Content-Type": "application/json"} if json is not None else {}
        options = (
            {"params": query, "data": json} if form is None else {"data": form, "timeout": self._transfer}
        )
        async with self._request(method, f"{self._root}/{quote(path)}", path, headers, **options) as response:
            body = await _read_bounded(response, ANSWER_BYTES_MAX)
            if body is None:
                response.close()
                raise ServiceError(f"the answer is longer than {ANSWER_BYTES_MAX} bytes", where=path)
        if response.status != 200:
            raise refusal(response.status, response.headers, body, path, reads=method == "GET")
        return self._object(body, path)

    async def chunks(self, url: str) -> AsyncIterator[bytes]:
        """Yield the bytes of a file at an address that the service gave. Raises as `call` does.

        The token goes with the request, so the address must be as safe as the service's own.
        """
        if self._base_url.startswith("https:") and not url.startswith("https:"):
            raise ServiceError("the address of the file is not an HTTPS URL", where=DOWNLOAD)
        async with self._request("GET", url, DOWNLOAD, {}, timeout=self._transfer) as response:
            if response.status != 200:
                body = await _read_bounded(response, ANSWER_BYTES_MAX)
                raise refusal(response.status, response.headers, body or b"", DOWNLOAD)
            async for chunk in response.content.iter_chunked(CHUNK_BYTES):
                yield chunk

    @asynccontextmanager
    async def _request(
        self, method: str, url: str, where: str, headers: Mapping[str, str], **options: Any
    ) -> AsyncIterator[aiohttp.ClientResponse]:
        try:
            async with self._session.request(
                method,
                url,
                headers={**self._headers, **headers},
                allow_redirects=False,
                proxy_headers=self._proxy.tunnel_headers,
                **options,
            ) as response:
                yield response
        except aiohttp.InvalidURL as problem:
            raise ConfigurationError(
                "the address is not a URL", where=where, remedy="check DRUMBEAT_BASE_URL"
            ) from problem
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            raise self._unreachable(problem, method) from problem

    def _unreachable(self, problem: Exception, method: str) -> Unreachable:
        if is_distrusted(problem):
            remedy = CA_REMEDY
        elif isinstance(problem, aiohttp.ClientHttpProxyError):
            remedy = "check DRUMBEAT_PROXY_URL"
        elif method == "GET" or isinstance(problem, aiohttp.ClientConnectorError):
            remedy = "check DRUMBEAT_BASE_URL"
        else:
            remedy = IN_DOUBT
        return Unreachable(
            f"the service did not answer: {system_error_text(problem)}", where=self._base_url, remedy=remedy
        )

    def _object(self, body: bytes, path: str) -> dict[str, Any]:
        try:
            content = orjson.loads(body)
        except orjson.JSONDecodeError:
            content = None
        if not isinstance(content, dict):
            raise ServiceError(
                "the answer is not a JSON object",
                where=f"{self._base_url}, {path}",
                remedy="check DRUMBEAT_BASE_URL",
            )
        return content


async def _read_bounded(response: aiohttp.ClientResponse, most_bytes: int) -> bytes | None:
    """Return the whole body, or None if it is longer than `most_bytes`."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > most_bytes:
            return None
        chunks.append(chunk)
    return b"".join(chunks)
