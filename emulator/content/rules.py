"""The checks that several message types share: a field's presence, its type, its length."""

from collections.abc import Mapping
from typing import Any, Protocol

import orjson

from drumbeat.emulator.errors import Refused


class MediaKinds(Protocol):
    """The part of the media store that a check uses."""

    def kind_of(self, media_id: str) -> str | None:
        """Return image, video, audio, document or sticker, or None for an id that cannot be sent any more."""
        ...


def text_of(content: Mapping[str, Any], name: str, path: str, limit: int, *, empty: bool = False) -> str:
    """Return a required text of up to `limit` characters. `Refused` 131008 if it is missing, 131009 if it is
    wrong.
    """
    value = content.get(name)
    if value is None:
        raise Refused(131008, f"{path}.{name} is required")
    if not isinstance(value, str) or len(value) > limit or not (value or empty):
        raise Refused(131009, f"{path}.{name} is a text of {0 if empty else 1} to {limit} characters")
    return value


def optional_text(content: Mapping[str, Any], name: str, path: str, limit: int) -> None:
    """Check a text that may be missing."""
    if content.get(name) is not None:
        text_of(content, name, path, limit, empty=True)


def object_of(content: Mapping[str, Any], name: str, path: str) -> dict[str, Any]:
    """Return a required object."""
    value = content.get(name)
    if value is None:
        raise Refused(131008, f"{path}.{name} is required")
    if not isinstance(value, dict):
        raise Refused(131009, f"{path}.{name} is an object")
    return value


def objects_of(content: Mapping[str, Any], name: str, path: str, limit: int) -> list[dict[str, Any]]:
    """Return a required array of 1 to `limit` objects."""
    value = content.get(name)
    if value is None:
        raise Refused(131008, f"{path}.{name} is required")
    if not isinstance(value, list) or not 0 < len(value) <= limit:
        raise Refused(131009, f"{path}.{name} is an array of 1 to {limit} elements")
    if not all(isinstance(each, dict) for each in value):
        raise Refused(131009, f"{path}.{name} is an array of objects")
    return value


def check_depth(content: Any) -> None:
    """Raise `Refused` (100) for JSON that can be parsed but not written again. So everything stored can be
    shown.
    """
    try:
        orjson.dumps(content)
    except orjson.JSONEncodeError:
        raise Refused(100, "the body is nested too deeply") from None
