"""Cells that are no text, as people read them."""

from datetime import date, datetime, time, timedelta

# Above it, a floating-point number has lost digits, and a spreadsheet shows zeros instead of them.
EXACT_FLOAT_MAX = 10**15


def float_text(value: float) -> str:
    """Return a number without the `.0` of whole numbers and without an exponent: 491701234567, not 4.917E+11.

    Of other numbers, the 15 digits that a spreadsheet keeps are shown: 57.7, not 57.699999999999996. A number
    that has lost digits keeps its exponent, so that no phone is made from it.
    """
    if not abs(value) < EXACT_FLOAT_MAX:
        return repr(value)
    return str(int(value)) if value.is_integer() else repr(float(f"{value:.15g}"))


def time_text(value: date | datetime | time | timedelta) -> str:
    """Return the time in ISO 8601 with a space: 2026-03-05, 2026-03-05 14:30:00, 14:30:00."""
    return str(value)
