"""The limits of open files: the descriptors that a sender requests, and the connections they allow."""

# The bound on connections of a process with many numbers. Each number also has its own limit on in-flight
# requests.
CONNECTIONS_MAX = 10_000
# Descriptors for database connections, files, and what libraries open for a moment. About 30 are in use.
RESERVE = 128
WANTED = CONNECTIONS_MAX + RESERVE


def connections_within(limit: int) -> int:
    """Return how many connections to the service may be open so that enough of `limit` descriptors remain."""
    return min(CONNECTIONS_MAX, max(limit - RESERVE, limit // 2))
