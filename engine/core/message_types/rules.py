"""The checks that several message types share."""

from collections.abc import Sequence

from drumbeat.engine.errors import UsageError


def require_text(what: str, text: str, characters_max: int, *, characters_min: int = 1) -> str:
    """Return the text if its length is allowed. Raises UsageError otherwise."""
    if not characters_min <= len(text) <= characters_max:
        raise UsageError(f"{what} must have {characters_min} to {characters_max} characters, not {len(text)}")
    return text


def require_count(what: str, values: Sequence[object], most: int) -> None:
    if not 1 <= len(values) <= most:
        raise UsageError(f"{what}: 1 to {most} are allowed, not {len(values)}")


def require_unique(what: str, ids: Sequence[str]) -> None:
    if len(set(ids)) != len(ids):
        raise UsageError(f"{what}: each id may occur only once")


def given(**members: object) -> dict[str, object]:
    """Return the members that are not None."""
    return {name: value for name, value in members.items() if value is not None}
