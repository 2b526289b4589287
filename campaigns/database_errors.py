"""The error a command ends with when the database is at fault."""

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from drumbeat.engine.errors import DrumbeatError, TryLater, Unreachable
from drumbeat.engine.store.connect_errors import connect_error, safe_url
from drumbeat.engine.system_error import system_error_text

_BROKEN = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InternalClientError,  # the driver raises it if the server closes during a statement
    ConnectionResetError,  # not ConnectionError: a broken pipe means that the reader of stdout is gone
)
_BUSY = (
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.SerializationError,
    TimeoutError,  # a statement took too long, or no connection became free
)
# Raised also by a new connection of a running process: the password changed, the database was dropped, or a
# right is missing.
_REFUSED = (
    asyncpg.InvalidAuthorizationSpecificationError,
    asyncpg.InvalidCatalogNameError,
    asyncpg.InsufficientPrivilegeError,
)
_RAISED = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


@contextmanager
def database_blamed(url: str) -> Iterator[None]:
    """Turn failures of the database in this block into errors that name it."""
    try:
        yield
    except _RAISED as problem:
        if (error := error_of(problem, url)) is None:
            raise
        raise error from problem


def error_of(problem: Exception, url: str) -> DrumbeatError | None:
    """Return the error for a failure of the database; None if the database is not the cause."""
    where, detail = safe_url(url), _detail(problem)
    if isinstance(problem, _BUSY):
        return TryLater(f"the database {where} is too busy: {detail}", remedy="try again")
    if isinstance(problem, _BROKEN) or _is_closed(problem):
        return Unreachable(f"the connection to {where} broke: {detail}", remedy="try again")
    if isinstance(problem, _REFUSED):
        return connect_error(problem, url)
    if isinstance(problem, asyncpg.ReadOnlySQLTransactionError):
        return Unreachable(
            f"the database {where} can only be read: {detail}", remedy="connect to the primary"
        )
    if isinstance(problem, asyncpg.InsufficientResourcesError):
        return Unreachable(f"the database {where} is out of space: {detail}", remedy="free some space there")
    return None


def _detail(problem: Exception) -> str:
    """Return the text of the system or the server. The driver's texts would only confuse a person."""
    if isinstance(problem, asyncpg.InterfaceError | asyncpg.InternalClientError):
        return "it was closed while it was in use"
    return system_error_text(problem)


def _is_closed(problem: Exception) -> bool:
    """Return whether the connection was lost between two statements. The driver then reports misuse."""
    phrases = ("connection is closed", "connection has been released back")
    return isinstance(problem, asyncpg.InterfaceError) and any(phrase in str(problem) for phrase in phrases)
