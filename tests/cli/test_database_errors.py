"""A database that refuses, stalls or breaks is reported in one line with its exit code."""

import asyncio
import errno
import re
from pathlib import Path

import asyncpg
import pytest

from drumbeat.campaigns.cli.create import create_and_show
from drumbeat.campaigns.database_errors import database_blamed, error_of
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.engine.errors import Unreachable
from drumbeat.engine.store.database import Connection, Pool
from tests.cli.processes import Drumbeat, Service

IN_USE = "the connection to postgresql://ana:***@h/db broke: it was closed while it was in use:"
URL = "postgresql://ana:geheim@h/db"
# The server ends the session in the middle of a statement.
LEAVE = "(SELECT pg_terminate_backend(pg_backend_pid())) IS NOT NULL"


@pytest.mark.parametrize(
    ("problem", "exit_code", "part"),
    [
        (asyncpg.DeadlockDetectedError("deadlock detected"), 75, "too busy: deadlock detected"),
        (asyncpg.LockNotAvailableError("lock timeout"), 75, "too busy"),
        (asyncpg.QueryCanceledError("statement timeout"), 75, "too busy"),
        (TimeoutError(), 75, "too busy: no answer:"),
        (ConnectionResetError("reset by peer"), 69, "broke: reset by peer"),
        (ConnectionResetError(errno.ECONNRESET, "x"), 69, "broke: Connection reset by peer:"),
        (asyncpg.ConnectionDoesNotExistError("closed in the middle"), 69, "broke"),
        (asyncpg.AdminShutdownError("terminating"), 69, "broke: terminating"),
        (asyncpg.InterfaceError("the underlying connection is closed"), 69, IN_USE),
        (asyncpg.InternalClientError("got result for unknown protocol state 0"), 69, IN_USE),
        (asyncpg.InterfaceError("cannot perform operation: connection is closed"), 69, IN_USE),
        (asyncpg.InternalClientError("cannot switch to state 12; another operation (2) is"), 69, IN_USE),
        (asyncpg.DiskFullError("no space left"), 69, "is out of space: no space left"),
        (asyncpg.ReadOnlySQLTransactionError("cannot execute INSERT"), 69, "can only be read"),
        (asyncpg.InsufficientPrivilegeError("permission denied"), 78, "lacks a privilege"),
        (asyncpg.InvalidPasswordError("it was changed"), 77, "refused the user or password: it was changed"),
        (asyncpg.InvalidAuthorizationSpecificationError("no entry"), 77, "refused the user or password"),
        (asyncpg.InvalidCatalogNameError("no database"), 78, "there is no such database"),
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
    "problem",
    [
        FileNotFoundError("a file"),
        BrokenPipeError("stdout"),
        asyncpg.UniqueViolationError("a bug"),
        asyncpg.InterfaceError("cannot perform operation: another operation is in progress"),
    ],
)
def test_what_is_not_the_databases_fault_stays_what_it_is(problem: Exception) -> None:
    assert error_of(problem, URL) is None


@pytest.mark.parametrize("problem", [asyncpg.DiskFullError("full"), asyncpg.AdminShutdownError("bye")])
def test_the_database_is_blamed_while_a_campaign_is_created(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, problem: Exception
) -> None:
    async def fail(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr("drumbeat.campaigns.cli.create.create_campaign", fail)
    monkeypatch.setattr("drumbeat.campaigns.cli.create.ready_database", lambda _: URL)
    spec = CampaignSpec(
        name="spring", template="order", language="en", audience=tmp_path / "people.csv", number=["1"]
    )
    with pytest.raises(Unreachable, match=re.escape("ana:***@h/db")):
        create_and_show(spec, dry_run=False, json=True, quiet=True)


def test_the_drivers_log_of_a_lost_connection_is_dropped_during_a_create(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def fail(*_: object, **__: object) -> None:
        cut = asyncpg.ConnectionDoesNotExistError("cut")
        loop = asyncio.get_running_loop()
        echo = {"message": "never retrieved", "exception": cut, "future": loop.create_future()}
        loop.call_exception_handler(echo)
        raise cut

    monkeypatch.setattr("drumbeat.campaigns.cli.create.create_campaign", fail)
    monkeypatch.setattr("drumbeat.campaigns.cli.create.ready_database", lambda _: URL)
    spec = CampaignSpec(
        name="spring", template="order", language="en", audience=tmp_path / "people.csv", number=["1"]
    )
    with pytest.raises(Unreachable, match="broke"):
        create_and_show(spec, dry_run=False, json=True, quiet=True)
    assert caplog.text == ""


async def test_a_connection_that_breaks_within_a_transaction_is_the_databases(pool: Pool) -> None:
    with pytest.raises(Unreachable, match="broke"), database_blamed(URL):
        async with pool.acquire() as connection, connection.transaction():
            backend = await connection.fetchval("SELECT pg_backend_pid()")
            await pool.execute("SELECT pg_terminate_backend($1)", backend)
            await connection.execute("SELECT 1")


async def test_a_connection_that_breaks_while_nothing_is_asked_is_the_databases(pool: Pool) -> None:
    async with pool.acquire() as connection:
        backend = await connection.fetchval("SELECT pg_backend_pid()")
        await pool.execute("SELECT pg_terminate_backend($1)", backend)
        with pytest.raises(Unreachable, match="broke"), database_blamed(URL):
            async with asyncio.timeout(30):
                while not connection.is_closed():
                    await asyncio.sleep(0)
            async with connection.transaction():
                pass


async def test_a_read_only_database_is_reported(drumbeat: Drumbeat, other: Connection) -> None:
    name = await other.fetchval("SELECT current_database()")
    await other.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    done = drumbeat("suppress", "add", "+5511987654321")
    assert done.exit_code == 69
    assert "can only be read" in done.complaint


async def test_a_database_lost_during_a_query_is_reported(drumbeat: Drumbeat, other: Connection) -> None:
    await other.execute("ALTER TABLE campaigns RENAME TO kept")
    await other.execute(f"CREATE VIEW campaigns AS SELECT * FROM kept WHERE {LEAVE}")
    done = drumbeat("campaign", "list")
    assert (done.exit_code, "broke" in done.complaint) == (69, True), done.stderr


async def test_a_database_lost_during_planning_is_reported(
    drumbeat: Drumbeat, synced: Service, audience: Path, other: Connection
) -> None:
    await other.execute("ALTER TABLE templates RENAME TO kept")
    await other.execute(f"CREATE VIEW templates AS SELECT * FROM kept WHERE {LEAVE}")
    words = ("--template", "order_shipped", "--language", "pt_BR", "--number", "1", "--param", "name")
    done = drumbeat("campaign", "create", "spring", *words, "--audience", audience)
    assert (done.exit_code, "broke" in done.complaint) == (69, True), done.stderr
