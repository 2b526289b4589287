"""How many file descriptors a sending process requests, and how many connections it may open with them."""

# Each number has its own limit on requests in flight. This limits a process with many numbers.
CONNECTIONS_MAX = 10_000
# For database connections, files, and what libraries open for a moment. About 30 are in use.
RESERVE = 128
WANTED = CONNECTIONS_MAX + RESERVE


def connections_within(limit: int) -> int:
    """How many connections to the service may be open, so that enough of `limit` descriptors remain."""
    return min(CONNECTIONS_MAX, max(limit - RESERVE, limit // 2))
