"""How many descriptors a sending process wants, and how many connections it may open with what it gets."""

# Connections follow the lanes, which are bounded number by number; this only bounds a process with many.
CONNECTIONS_MAX = 10_000
# For all else: connections to the database, files, and what a library opens for a moment. Some 30 are in use.
RESERVE = 128
WANTED = CONNECTIONS_MAX + RESERVE


def connections_within(limit: int) -> int:
    """How many connections to the service leave enough of `limit` descriptors for everything else."""
    return min(CONNECTIONS_MAX, max(limit - RESERVE, limit // 2))
