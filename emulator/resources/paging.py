"""The lists in pages, by cursors, with only the fields that were asked for (open point)."""

import base64
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlencode

from drumbeat.emulator.errors import Refused
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply

DEFAULT_LIMIT = 25
LARGEST_LIMIT = 1_000

Record = Mapping[str, Any]


PAGE_QUERY = ("limit", "after", "before", "fields", "summary")


def check_query(request: Request, *known: str) -> None:
    """Raise `Refused` (100) for a filter that the list does not have: ignored, it would give another list."""
    if unknown := sorted(set(request.query) - {*PAGE_QUERY, *known}):
        raise Refused(100, f"the query takes {', '.join((*known, *PAGE_QUERY))}, not {', '.join(unknown)}")


def page(request: Request, records: Sequence[Record], base_url: str, summary: Record | None = None) -> Reply:
    """Return the page of `records` that the query's `limit`, `after`, `before` and `fields` ask for.

    With a `summary` in the query, the members that it names come too. A cursor names a record by its id, so
    it stays valid when records before it come and go.
    """
    limit = _limit(request.query.get("limit"))
    begin, end = _slice(request.query, [record["id"] for record in records], limit)
    shown = records[begin:end]
    content: dict[str, Any] = {"data": [select(record, request.query.get("fields")) for record in shown]}
    if shown:
        after, before = _cursor(shown[-1]["id"]), _cursor(shown[0]["id"])
        content["paging"] = {"cursors": {"before": before, "after": after}}
        if end < len(records):
            content["paging"]["next"] = _link(request, base_url, {"after": after}, drop="before")
        if begin > 0:
            content["paging"]["previous"] = _link(request, base_url, {"before": before}, drop="after")
    if summary is not None and (wanted := request.query.get("summary")):
        content["summary"] = {name: summary[name] for name in wanted.split(",") if name in summary}
    return json_reply(content)


def select(record: Record, fields: str | None) -> dict[str, Any]:
    """Return the fields asked for and the id, or all fields if `fields` is empty. Unknown names are
    ignored.
    """
    if not fields:
        return dict(record)
    wanted = {"id", *(name.strip().partition("{")[0].partition(".")[0] for name in fields.split(","))}
    return {name: value for name, value in record.items() if name in wanted}


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise Refused(100, "limit is a positive number")
    return min(int(text), LARGEST_LIMIT)


def _slice(query: Mapping[str, str], ids: list[str], limit: int) -> tuple[int, int]:
    if query.get("after"):
        begin = _index_of(query["after"], ids) + 1
        return begin, min(begin + limit, len(ids))
    if query.get("before"):
        end = _index_of(query["before"], ids)
        return max(end - limit, 0), end
    return 0, min(limit, len(ids))


def _index_of(cursor: str, ids: list[str]) -> int:
    try:
        return ids.index(base64.urlsafe_b64decode(cursor.encode()).decode())
    except ValueError:
        raise Refused(100, "the cursor is not one of this list") from None


def _cursor(record_id: str) -> str:
    return base64.urlsafe_b64encode(record_id.encode()).decode()


def _link(request: Request, base_url: str, change: dict[str, str], drop: str) -> str:
    kept = {name: value for name, value in request.query.items() if name not in (drop, *change)}
    return f"{base_url}{request.path}?{urlencode({**kept, **change})}"
