"""The decision whether the disk of the database has enough free space to continue sending.

Law: sending stops while enough space remains for the results of the messages already sent. Each of them still
stores its outcome and up to three statuses. Postgres writes each result twice, to its log and to the table.
If the log runs out of space, the whole server stops.
"""

MIB = 2**20
# From its attempt to the status `read`, a message needs about 1 KiB, with index, log and three statuses. This
# is enough for a million messages.
LEAST_FREE_MIB = 1_024
# Sending resumes at this multiple of the limit. Without a margin, the log, which grows and shrinks by itself,
# would stop and resume sending all the time.
MARGIN = 1.1


def is_short(free_bytes: int, least_bytes: int, *, was_short: bool) -> bool:
    """Return whether to stop claims. If `least_bytes` is 0, claims never stop."""
    return free_bytes < (least_bytes * MARGIN if was_short else least_bytes)
