"""Whether the disk of the database has room to go on sending.

Law: sending stops while there is still room for what was already sent. What becomes of a message is stored
after it was written: its outcome, then up to three statuses. Postgres writes each of them twice, in its log
and in the table, and a log that finds no room takes the whole server down.
"""

MIB = 2**20
# A message that is under way costs about 1 KiB until it is read on a phone: index, log and three statuses
# included. This holds a million of them.
LEAST_FREE_MIB = 1_024
# Sending goes on with this much more than where it stopped: the log shrinks and grows by itself all the time.
MARGIN = 1.1


def is_short(free_bytes: int, least_bytes: int, *, was_short: bool) -> bool:
    """Whether nothing more may be claimed. `least_bytes` 0: never."""
    return free_bytes < (least_bytes * MARGIN if was_short else least_bytes)
