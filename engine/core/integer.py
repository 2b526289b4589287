"""The reader of whole numbers, which the service may write as numbers or texts (open point)."""

from typing import Any

INT4_MAX = 2**31 - 1


def integer(value: Any) -> int | None:
    """Return the whole number of 190, 190.0 or `"190"`. None for anything else, and beyond 32 bits."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return int(number) if number.is_integer() and abs(number) <= INT4_MAX else None
