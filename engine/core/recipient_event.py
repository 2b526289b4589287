"""The kinds of events of recipients that programs hear of, and what bounds their delivery."""

from enum import StrEnum

KEPT_S = 7 * 86_400.0  # a program that is away for longer reads the results of the campaign instead
PAGE_MAX = 1_000
WINDOW = 10_000  # numbers that one look covers, so that a filter that fits nothing cannot make it long


class EventKind(StrEnum):
    """The kinds. Sent to programs: never renamed. A recipient's events come in this order, each once; some
    may be missing, because a status that comes after a higher one tells nothing new.
    """

    SENT = "sent"
    FAILED = "failed"
    DELIVERED = "delivered"
    READ = "read"
    OPTED_OUT = "opted_out"


STORED_KINDS = {
    EventKind.SENT: 2,
    EventKind.FAILED: 3,
    EventKind.DELIVERED: 4,
    EventKind.READ: 5,
    EventKind.OPTED_OUT: 9,
}
KIND_OF = {stored: kind for kind, stored in STORED_KINDS.items()}
