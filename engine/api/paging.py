"""The pages of a list, followed as one async iterator."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from drumbeat.engine.api.caller import Caller
from drumbeat.engine.api.service_error import ServiceError

PAGE_SIZE = 100
PAGES_MAX = 100  # 10,000 entries; an account may hold 6,000 templates. Also ends a cycle of cursors


async def entries(caller: Caller, path: str, query: Mapping[str, str]) -> AsyncIterator[dict[str, Any]]:
    """Yield the entries of a list, page by page. Each page is a management call."""
    asked = {**query, "limit": str(PAGE_SIZE)}
    for _ in range(PAGES_MAX):
        page = await caller.manage("GET", path, query=asked)
        found = page_entries(page, path)
        for entry in found:
            yield entry
        after = _cursor(page)
        last = len(found) < PAGE_SIZE and not _names_next(page)
        if last or not found or after is None or after == asked.get("after"):
            return
        asked["after"] = after
    raise ServiceError(f"more than {PAGES_MAX} pages of {PAGE_SIZE}", where=path)


def page_entries(page: Mapping[str, Any], path: str) -> list[dict[str, Any]]:
    """Return the entries of a page. One without a list is an error: an empty list would remove every
    template.
    """
    data = page.get("data")
    if not isinstance(data, list):
        raise ServiceError("the answer has no list `data`", where=path, remedy="check DRUMBEAT_BASE_URL")
    return [entry for entry in data if isinstance(entry, dict)]


def _names_next(page: Mapping[str, Any]) -> bool:
    paging = page.get("paging")
    return isinstance(paging, dict) and bool(paging.get("next"))


def _cursor(page: Mapping[str, Any]) -> str | None:
    """Return the cursor of the next page, `paging.cursors.after`."""
    paging = page.get("paging")
    cursors = paging.get("cursors") if isinstance(paging, dict) else None
    after = cursors.get("after") if isinstance(cursors, dict) else None
    return after if isinstance(after, str) and after else None
