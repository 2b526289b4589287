"""The reading of the fields of a control request. An invalid one is error 100, as everywhere."""

from collections.abc import Mapping
from typing import Any, TypeVar

from drumbeat.emulator.errors import Refused

Value = TypeVar("Value")


def whole_number(query: Mapping[str, str], name: str, default: int) -> int:
    """Return a number from 0 up in the query."""
    text = query.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise Refused(100, f"{name} is a number from 0 up")
    return int(text)


def check_members(content: Mapping[str, Any], *known: str) -> None:
    """Raise `Refused` (100) for a member that the command does not take, so that no misspelling is
    ignored.
    """
    if unknown := sorted(set(content) - set(known)):
        raise Refused(100, f"this takes {', '.join(known)}, not {', '.join(unknown)}")


def field(content: Mapping[str, Any], name: str, kind: type[Value]) -> Value:
    """Return a required field of the body."""
    value = content.get(name)
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise Refused(100, f"{name} is required, as {kind.__name__}")
    return value


def optional(content: Mapping[str, Any], name: str, kind: type[Value]) -> Value | None:
    """Return a field that may be missing or null."""
    return None if content.get(name) is None else field(content, name, kind)


def digits(content: Mapping[str, Any], name: str) -> int:
    """Return a required field of digits, such as a phone number."""
    text = field(content, name, str)
    if not (text.isascii() and text.isdigit() and len(text) <= 15):
        raise Refused(100, f"{name} is the digits of a phone number")
    return int(text)
