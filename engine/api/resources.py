"""Reads the account's resources from the service: message templates and phone numbers.

Their shapes are an open point: every field but an identifier may be absent. The interface allows 200
management calls an hour for one app and account. Half of them may be made at once and the other half is
spread over the hour, so no hour exceeds the limit.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import aiohttp
import orjson
from aiolimiter import AsyncLimiter

from engine.api.proxy import proxy_of
from engine.api.reply import parse_reply
from engine.api.transport import CONNECT_S_MAX
from engine.core.classify import classify
from engine.core.error_codes import meaning_of, remedy_of
from engine.core.interface import API_VERSION
from engine.core.outcome import Rejected, Scope, Throttled, Transient
from engine.core.sanitise import sanitise
from engine.errors import AuthenticationError, ConfigurationError, ServiceError, TryLater, Unreachable
from engine.process.settings import ServiceSettings
from engine.system_error import system_error_text

CALLS_PER_HOUR = 200
PAGE_SIZE = 100
PAGES_MAX = 50  # 5,000 templates; an account may hold 250 to 6,000. Also ends a cycle of cursors
PAGE_BYTES_MAX = 8 * 1024 * 1024
CALL_S_MAX = 30.0
# 100: a parameter is not valid. 33: the object does not exist, or the token may not see it.
NO_SUCH_OBJECT = (100, 33)
NO_SUCH_VERSION = 2635  # services of this family answer it for a version that they no longer support

_NUMBER_FIELDS = "id,display_phone_number,verified_name,quality_rating,messaging_limit_tier,status,throughput"
_TEMPLATE_FIELDS = "id,name,language,status,category,components,parameter_format"


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    """A template as the service lists it. Name and language form its key."""

    name: str
    language: str
    status: str
    category: str
    components: list[dict[str, Any]]
    parameter_format: str
    template_id: str

    def definition(self) -> dict[str, Any]:
        """The argument for `engine.core.message.compile_template`."""
        return {
            "name": self.name,
            "language": self.language,
            "components": self.components,
            "parameter_format": self.parameter_format,
        }


@dataclass(frozen=True, slots=True)
class NumberRecord:
    """A phone number as the service lists it. A text is empty if the service does not send it."""

    phone_number_id: str
    display_phone_number: str
    verified_name: str
    quality_rating: str
    messaging_limit_tier: str
    status: str
    throughput_level: str


def hourly_call_budget() -> AsyncLimiter:
    """The budget of one app and account. All clients of the account share it."""
    return AsyncLimiter(CALLS_PER_HOUR / 2, 3600)


class ManagementClient:
    """Reads the account's resources. Use it with `async with`, or close it."""

    def __init__(
        self,
        base_url: str,
        token: str,
        *,
        api_version: str = API_VERSION,
        budget: AsyncLimiter | None = None,
        call_s: float = CALL_S_MAX,
        proxy: str | None = None,
    ) -> None:
        """Needs a running loop. The clients of one account in this process may share `budget`. `proxy` is the
        URL of an HTTP proxy.
        """
        self._base_url = base_url
        self._root = f"{base_url.rstrip('/')}/{api_version}"
        self._budget = budget if budget is not None else hourly_call_budget()
        self._proxy = proxy_of(proxy, base_url)
        # Sent with each request. aiohttp would send headers of the session to the proxy too.
        self._headers = {"Authorization": f"Bearer {token}", **self._proxy.request_headers}
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=4),
            timeout=aiohttp.ClientTimeout(total=call_s, connect=CONNECT_S_MAX),
            cookie_jar=aiohttp.DummyCookieJar(),
            proxy=self._proxy.url,
        )

    async def __aenter__(self) -> ManagementClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self._session.close()

    async def templates(self, waba_id: str) -> list[TemplateRecord]:
        """All templates of an account."""
        entries = self._pages(f"{waba_id}/message_templates", {"fields": _TEMPLATE_FIELDS})
        return [_template(entry) async for entry in entries if entry.get("name") and entry.get("language")]

    async def phone_numbers(self, waba_id: str) -> list[NumberRecord]:
        """All numbers of an account."""
        entries = self._pages(f"{waba_id}/phone_numbers", {"fields": _NUMBER_FIELDS})
        return [_number(entry) async for entry in entries if entry.get("id")]

    async def get(self, path: str, query: Mapping[str, str]) -> dict[str, Any]:
        """The JSON object that answers one GET within the budget.

        Raises TryLater if the budget is spent, or if the service says so; AuthenticationError, Unreachable,
        ConfigurationError (no such object) or ServiceError for other failures.
        """
        if not self._budget.has_capacity():
            raise TryLater(
                f"the {CALLS_PER_HOUR} management calls of this hour are used up", remedy="wait some minutes"
            )
        await self._budget.acquire()
        try:
            async with self._session.get(
                f"{self._root}/{path}",
                params=query,
                headers=self._headers,
                allow_redirects=False,
                proxy_headers=self._proxy.tunnel_headers,
            ) as response:
                body = await _read_bounded(response, PAGE_BYTES_MAX)
                if body is None:
                    response.close()
        except (aiohttp.ClientError, TimeoutError, OSError) as problem:
            refused = isinstance(problem, aiohttp.ClientHttpProxyError)
            raise Unreachable(
                f"the service did not answer: {system_error_text(problem)}",
                where=self._base_url,
                remedy="check DRUMBEAT_PROXY_URL" if refused else "check DRUMBEAT_BASE_URL",
            ) from problem
        if body is None:
            raise ServiceError(f"the answer is longer than {PAGE_BYTES_MAX} bytes", where=path)
        if response.status != 200:
            raise self._error(response.status, response.headers, body, path)
        return self._object(body, path)

    async def _pages(self, path: str, query: Mapping[str, str]) -> AsyncIterator[dict[str, Any]]:
        asked = {**query, "limit": str(PAGE_SIZE)}
        for _ in range(PAGES_MAX):
            page = await self.get(path, asked)
            entries = _entries(page, path)
            for entry in entries:
                yield entry
            after = _cursor(page)
            last = len(entries) < PAGE_SIZE and not _names_next(page)
            if last or not entries or after is None or after == asked.get("after"):
                return
            asked["after"] = after
        raise ServiceError(f"more than {PAGES_MAX} pages of {PAGE_SIZE}", where=path)

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

    def _error(self, status: int, headers: Mapping[str, str], body: bytes, path: str) -> Exception:
        reply = parse_reply(status, headers, body)
        code, detail = reply.code, reply.detail
        where = f"{path}, HTTP {status}" + (f", code {code}" if code is not None else "")
        outcome = classify(status, code, detail, None, None)
        if status == 401 or (isinstance(outcome, Rejected) and outcome.scope is Scope.ACCOUNT):
            name = outcome.name if isinstance(outcome, Rejected) else f"http_{status}"
            return AuthenticationError(detail or meaning_of(name), where=where, remedy=remedy_of(name))
        if isinstance(outcome, Throttled | Transient) or status >= 500:
            return TryLater(
                detail or "the service cannot answer now",
                where=where,
                remedy=f"try again in {_minutes(reply.wait_s)}",
                wait_s=reply.wait_s,
            )
        if code == NO_SUCH_VERSION:
            return ConfigurationError(
                detail or "the service does not support this API version",
                where=where,
                remedy="check DRUMBEAT_API_VERSION",
            )
        if status == 404 or code in NO_SUCH_OBJECT:
            return ConfigurationError(
                detail or "the service does not know this object",
                where=where,
                remedy="check DRUMBEAT_WABA_ID (the account's id) and DRUMBEAT_BASE_URL",
            )
        return ServiceError(detail or "the service refused the call", where=where)


def management_client(service: ServiceSettings, budget: AsyncLimiter | None = None) -> ManagementClient:
    """The client for these settings. `budget`: as for ManagementClient."""
    token, version = service.access_token.get_secret_value(), service.api_version
    return ManagementClient(service.base_url, token, api_version=version, budget=budget, proxy=service.proxy)


def _minutes(wait_s: float | None) -> str:
    minutes = ceil((wait_s or 0) / 60)
    return "a minute" if minutes == 1 else f"{minutes or 'some'} minutes"


def _entries(page: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """The entries of a page. A page without a list is an error: an empty list would remove every template."""
    data = page.get("data")
    if not isinstance(data, list):
        raise ServiceError("the answer has no list `data`", where=path, remedy="check DRUMBEAT_BASE_URL")
    return [entry for entry in data if isinstance(entry, dict)]


def _names_next(page: Mapping[str, Any]) -> bool:
    paging = page.get("paging")
    return isinstance(paging, dict) and bool(paging.get("next"))


def _cursor(page: Mapping[str, Any]) -> str | None:
    """The cursor of the next page, `paging.cursors.after`."""
    paging = page.get("paging")
    cursors = paging.get("cursors") if isinstance(paging, dict) else None
    after = cursors.get("after") if isinstance(cursors, dict) else None
    return after if isinstance(after, str) and after else None


def _template(entry: Mapping[str, Any]) -> TemplateRecord:
    components = entry.get("components")
    return TemplateRecord(
        name=_text(entry, "name"),
        language=_text(entry, "language"),
        status=_text(entry, "status"),
        category=_text(entry, "category"),
        components=[part for part in components if isinstance(part, dict)]
        if isinstance(components, list)
        else [],
        parameter_format=_text(entry, "parameter_format") or "POSITIONAL",
        template_id=_text(entry, "id"),
    )


def _number(entry: Mapping[str, Any]) -> NumberRecord:
    throughput = entry.get("throughput")
    return NumberRecord(
        phone_number_id=_text(entry, "id"),
        display_phone_number=_text(entry, "display_phone_number"),
        verified_name=_text(entry, "verified_name"),
        quality_rating=_text(entry, "quality_rating") or "UNKNOWN",
        messaging_limit_tier=_text(entry, "messaging_limit_tier"),
        status=_text(entry, "status"),
        throughput_level=_text(throughput, "level") if isinstance(throughput, dict) else "",
    )


def _text(entry: Mapping[str, Any], name: str) -> str:
    value = entry.get(name)
    return "" if value is None else sanitise(str(value))


async def _read_bounded(response: aiohttp.ClientResponse, most_bytes: int) -> bytes | None:
    """The whole body, or None if it is longer than `most_bytes`."""
    chunks: list[bytes] = []
    size = 0
    async for chunk in response.content.iter_any():
        size += len(chunk)
        if size > most_bytes:
            return None
        chunks.append(chunk)
    return b"".join(chunks)
