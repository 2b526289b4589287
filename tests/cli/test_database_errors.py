"""A database that refuses, stalls or breaks is told in a line with an exit code of its own."""

import asyncpg
import pytest

from campaigns.cli.database_errors import error_of
from engine.store.database import Connection
from tests.cli.processes import Drumbeat

URL = "postgresql://ana:geheim@h/db"


@pytest.mark.parametrize(
    ("problem", "exit_code", "part"),
    [
        (asyncpg.DeadlockDetectedError("deadlock detected"), 75, "too busy: deadlock detected"),
        (asyncpg.LockNotAvailableError("lock timeout"), 75, "too busy"),
        (asyncpg.QueryCanceledError("statement timeout"), 75, "too busy"),
        (TimeoutError(), 75, "too busy: TimeoutError"),
        (ConnectionResetError("reset by peer"), 69, "broke: reset by peer"),
        (asyncpg.ConnectionDoesNotExistError("closed in the middle"), 69, "broke"),
        (asyncpg.AdminShutdownError("terminating"), 69, "broke: terminating"),
        (asyncpg.DiskFullError("no space left"), 69, "has no room: no space left"),
        (asyncpg.ReadOnlySQLTransactionError("cannot execute INSERT"), 69, "can only be read"),
        (asyncpg.InsufficientPrivilegeError("permission denied"), 78, "may not do that"),
    ],
)
def test_the_database_is_blamed_by_name(problem: Exception, exit_code: int, part: str) -> None:
    error = error_of(problem, URL)
    assert error is not None
    assert error.exit_code == exit_code
    assert part in str(error)
    assert "ana:***@h/db" in str(error)
    assert "geheim" not in str(error)


@pytest.mark.parametrize(
    "problem", [FileNotFoundError("a file"), BrokenPipeError("stdout"), asyncpg.UniqueViolationError("a bug")]
)
def test_what_is_not_the_databases_fault_stays_what_it_is(problem: Exception) -> None:
    assert error_of(problem, URL) is None


async def test_a_database_that_can_only_be_read_is_told(drumbeat: Drumbeat, other: Connection) -> None:
    name = await other.fetchval("SELECT current_database()")
    await other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    done = drumbeat("suppress", "add", "+5511987654321")
    assert done.exit_code == 69
    assert "can only be read" in done.complaint
