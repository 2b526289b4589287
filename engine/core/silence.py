"""The time from which an attempt in doubt counts as probably not sent, because no event tells of it.

Law: silence says something only while other events of the number arrive. After a gap the wait begins anew,
because the service repeats later what nobody received.
"""

from datetime import datetime, timedelta

GAP_S = 300.0  # without an event for this long, the events of a number have a gap; `note_flow` has the same


def probably_not_sent_at(
    begins: datetime, last_event_at: datetime | None, silence_s: float, now: datetime
) -> datetime | None:
    """Return from when on an attempt without an event counts as probably not sent; None if nobody can tell.

    `begins` is when it came to be in doubt, or when the number's events began to arrive without a gap, if
    that is later. `last_event_at` is that of the number; None means that none arrived yet. While no events
    arrive, the time stands still.
    """
    if last_event_at is None:
        return None
    ends = begins + timedelta(seconds=silence_s)
    arrive = now - last_event_at < timedelta(seconds=GAP_S)
    return ends if arrive or last_event_at >= ends else None
