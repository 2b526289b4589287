"""The limit `max_failed`: how many failed recipients a campaign may have."""

from math import isfinite


def exceeds_max_failed(failed: int, recipients: int, max_failed: str | None) -> bool:
    """Return whether more recipients failed than `N`, or `N%` of all. None allows any number of failures.

    Raises ValueError if the limit is not finite.
    """
    if max_failed is None:
        return False
    share = max_failed.endswith("%")
    number = float(max_failed.rstrip("%"))
    if not isfinite(number):  # no number of failures would exceed NaN
        raise ValueError(f"{max_failed!r} limits no failures: write N or N%")
    return failed > number * (recipients / 100 if share else 1)
