"""What a person is told when the database, not the command, is at fault."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import asyncpg

from engine.errors import ConfigurationError, DrumbeatError, TryLater, Unreachable
from engine.store.refusals import refusal_of, safe_url
from engine.system_error import system_error_text

_BROKEN = (
    asyncpg.PostgresConnectionError,
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.InternalClientError,  # the driver's word for a statement that crosses the server's good-bye
    ConnectionResetError,  # not every ConnectionError: a broken pipe is whoever reads our output
)
_BUSY = (
    asyncpg.DeadlockDetectedError,
    asyncpg.LockNotAvailableError,
    asyncpg.QueryCanceledError,
    asyncpg.SerializationError,
    TimeoutError,  # of a statement, or of the wait for a connection
)
# Of a new connection of a process that runs: the password was changed, or the database is gone.
_REFUSED = (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidCatalogNameError)
_RAISED = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError, OSError)


@contextmanager
def database_blamed(url: str) -> Iterator[None]:
    """What fails here because of the database leaves as the error that says so."""
    try:
        yield
    except _RAISED as problem:
        if (error := error_of(problem, url)) is None:
            raise
        raise error from problem


def error_of(problem: Exception, url: str) -> DrumbeatError | None:
    """The error that stands for it; None where the database is not to blame."""
    place, said = safe_url(url), _said(problem)
    if isinstance(problem, _BUSY):
        return TryLater(f"the database {place} is too busy: {said}", remedy="try again")
    if isinstance(problem, _BROKEN) or _is_closed(problem):
        return Unreachable(f"the connection to {place} broke: {said}", remedy="try again")
    if isinstance(problem, _REFUSED):
        return refusal_of(problem, url)
    if isinstance(problem, asyncpg.ReadOnlySQLTransactionError):
        return Unreachable(f"the database {place} can only be read: {said}", remedy="is it the primary?")
    if isinstance(problem, asyncpg.InsufficientResourcesError):
        return Unreachable(f"the database {place} has no room: {said}", remedy="make room there")
    if isinstance(problem, asyncpg.InsufficientPrivilegeError):
        remedy = "use the user who owns Drumbeat's tables, or GRANT it what is missing"
        return ConfigurationError(f"the user of {place} may not do that: {said}", remedy=remedy)
    return None


def _said(problem: Exception) -> str:
    """The system's words or the server's. Those of the driver for a misuse of it tell a person nothing."""
    if isinstance(problem, asyncpg.InterfaceError | asyncpg.InternalClientError):
        return "it was closed while it was in use"
    return system_error_text(problem)


def _is_closed(problem: Exception) -> bool:
    """The driver's errors for a connection that was cut between two statements, and for one that its pool has
    taken back for that, are those of a misuse, too.
    """
    said = ("connection is closed", "connection has been released back")
    return isinstance(problem, asyncpg.InterfaceError) and any(words in str(problem) for words in said)
