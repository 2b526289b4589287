"""The links of headers, before they are sent: what a server answered, and when a signed link ends.

The service fetches the link itself, message by message, so it must answer with a file until the last one.
"""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from drumbeat.engine.core.media_limits import BYTES_MAX
from drumbeat.engine.core.template.header_file import TYPES

_UNKNOWN_TYPES = frozenset({"", "application/octet-stream", "binary/octet-stream"})
# The parameters of signed links: those that hold a moment in Unix seconds, and those of a time and a length.
_MOMENTS = ("Expires", "expires", "exp", "x-expires")
_LENGTHS = (("X-Amz-Date", "X-Amz-Expires"), ("X-Goog-Date", "X-Goog-Expires"))
_AZURE_END = "se"
_STAMP = "%Y%m%dT%H%M%SZ"


class LinkAnswer(NamedTuple):
    """The answer of a link's server. `size_bytes` None: it does not say."""

    status: int
    mime_type: str
    size_bytes: int | None


def link_problem(kind: str, answer: LinkAnswer) -> str | None:
    """Return why the service cannot show this as a header of this kind; None if it seems that it can."""
    if not 200 <= answer.status < 300:
        return f"it answers {answer.status}"
    found = answer.mime_type.partition(";")[0].strip().lower()
    if found not in _UNKNOWN_TYPES and found not in TYPES.get(kind, ()):
        return f"it answers with {found}, and a {kind} may be {', '.join(sorted(TYPES.get(kind, ())))}"
    if answer.size_bytes == 0:
        return "it answers with an empty file"
    if answer.size_bytes is not None and answer.size_bytes > BYTES_MAX.get(kind, answer.size_bytes):
        return f"it has {answer.size_bytes:,} bytes, and a {kind} may have {BYTES_MAX[kind]:,}"
    return None


def header_kind(definition: Mapping[str, Any]) -> str:
    """Return the kind of a template's header, such as image; empty if it has none that shows a file."""
    for component in definition.get("components") or ():
        if isinstance(component, dict) and str(component.get("type")).upper() == "HEADER":
            return str(component.get("format") or "").lower()
    return ""


def link_ends_at(url: str) -> datetime | None:
    """Return when a signed link ends, as its parameters say; None if they say nothing that can be read."""
    given = {name: values[-1] for name, values in parse_qs(urlsplit(url).query, max_num_fields=100).items()}
    for begun, length in _LENGTHS:
        if begun in given and length in given:
            return _after(given[begun], given[length])
    for name in _MOMENTS:
        if name in given and given[name].isascii() and given[name].isdigit() and 9 <= len(given[name]) <= 11:
            return datetime.fromtimestamp(int(given[name]), UTC)
    if _AZURE_END in given and "sig" in given:
        return _moment(given[_AZURE_END])
    return None


def _after(begun: str, length: str) -> datetime | None:
    try:
        return datetime.strptime(begun, _STAMP).replace(tzinfo=UTC) + timedelta(seconds=int(length))
    except (ValueError, OverflowError):
        return None


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo is not None else found.replace(tzinfo=UTC)
