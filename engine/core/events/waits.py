"""The waits of events whose message is not known yet: its reply may be on its way."""

UNMATCHED_DAYS = 8  # the service repeats an event for up to 7 days
FIRST_WAIT_S = 2.0  # before an event is matched again; doubles, up to LAST_WAIT_S
LAST_WAIT_S = 3_600.0


def next_wait_s(matches_tried: int, *, hopeful: bool) -> float | None:
    """Return how long the event waits before its message is looked for again; None: not again.

    Each event is looked for at least twice: the second look counts those that cannot be tied to a person.
    """
    if matches_tried and not hopeful:
        return None
    return min(LAST_WAIT_S, FIRST_WAIT_S * 2.0 ** min(matches_tried, 20))
