"""The readers of members in the service's answers. A member may be absent or of another type (open point)."""

from collections.abc import Mapping
from typing import Any

from drumbeat.engine.core.sanitise import sanitise


def text_of(entry: Mapping[str, Any], name: str) -> str:
    """Return a text without control characters; empty if the member is absent."""
    value = entry.get(name)
    return "" if value is None else sanitise(str(value))


def object_of(entry: Mapping[str, Any], name: str) -> dict[str, Any]:
    value = entry.get(name)
    return value if isinstance(value, dict) else {}


def objects_of(entry: Mapping[str, Any], name: str) -> list[dict[str, Any]]:
    value = entry.get(name)
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def number_of(entry: Mapping[str, Any], name: str) -> float:
    """Return a number, even one that is written as a text; 0 if the member is absent."""
    try:
        return float(entry.get(name) or 0)
    except (TypeError, ValueError):
        return 0.0
