"""Connections to Postgres: one way to open them, with time-outs and keepalives on every one."""

import asyncio
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import orjson

from engine.store.queries import queries
from engine.store.refusals import pooled, translated

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)

Greeting: TypeAlias = Callable[[Connection], Awaitable[object]]

CONNECT_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 5.0
# Of several hosts: less than any wait for a connection. The kernel of a machine answers, not its busy server.
SILENT_HOST_S = 2.0
POSTGRES_PORT = 5432
# Longer than any statement of the sending path; planning and maintenance pass their own.
COMMAND_TIMEOUT_S = 30.0
# A server's machine that acknowledges nothing for so long is gone, or the way to it: twice a lease, and long
# enough for a switch to fail over. A slow statement is no such silence: its machine acknowledges meanwhile.
UNACKNOWLEDGED_S = 10
# Of a pool of a sender: for outcomes, for claims, and for all else. With fewer it would store nothing.
LEAST_OF_A_SENDER = 3
SERVER_SETTINGS = {
    "application_name": "drumbeat",
    # ms: below the lease, so that a process that stands still holds no locks when its number is taken over
    "idle_in_transaction_session_timeout": "4000",
    "lock_timeout": "20000",  # ms
    "tcp_keepalives_idle": "15",  # s: the server notices a vanished client within half a minute
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    # A claim that a crash of the server undoes is made again: durable, whatever the server's default.
    "synchronous_commit": "on",
    "jit": "off",  # short statements: compiling costs more than it saves
    # Whatever the server's owner sets: every statement has a time-out of ours, and a plan of millions takes
    # long, while its other session rests.
    "statement_timeout": "0",
    "idle_session_timeout": "0",
    # Who waited for a lock must see what was committed meanwhile: facts are stored once by such a look.
    "default_transaction_isolation": "read committed",
}
TRANSACTION_TIMEOUT_SINCE = 17  # the version of Postgres
# A plan is kept for minutes: one made while a table was empty would read all of it, however large by then.
BY_KEY_SETTINGS = {**SERVER_SETTINGS, "enable_seqscan": "off"}
# A session of its own (planning, migrating) may wait for its caller; it holds no lock that a sender needs.
OWN_SESSION_SETTINGS = {**SERVER_SETTINGS, "idle_in_transaction_session_timeout": "60000"}
LOST_CONNECTION = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # the driver's word for a statement that crosses the server's good-bye
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    # SQLSTATE 55000: a lock time-out is a kind of it, and a database that is closed to newcomers says it
    asyncpg.ObjectNotInPrerequisiteStateError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.QueryCanceledError,
    asyncpg.InternalServerError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
)
"""What a statement raises when the database, not the statement, is at fault: worth repeating."""


async def _prepare(connection: Connection) -> None:
    await connection.set_type_codec(
        "jsonb", encoder=_encode_json, decoder=orjson.loads, schema="pg_catalog", format="text"
    )


def _encode_json(value: object) -> str:
    return orjson.dumps(value).decode()


def _keep_alive(connection: Connection, *, gives_up: bool) -> None:
    """Client side: a half-open connection is noticed even when nothing is asked.

    `gives_up`: as soon when something is, since keepalives rest while the kernel repeats what it sent. Not
    for sessions that stream: a server that takes nothing for a while is as silent to the kernel.
    """
    transport = getattr(connection, "_transport", None)
    sock = transport.get_extra_info("socket") if transport is not None else None
    if sock is None or sock.family == socket.AF_UNIX:
        return
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if hasattr(socket, "TCP_KEEPIDLE"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, max(1, UNACKNOWLEDGED_S // 2))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, max(1, UNACKNOWLEDGED_S // 2))
    if gives_up and hasattr(socket, "TCP_USER_TIMEOUT"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, UNACKNOWLEDGED_S * 1000)


async def _connect(*arguments: Any, **options: Any) -> "asyncpg.Connection[asyncpg.Record]":
    """As the driver's. A server that is not there is the database's fault, not that of a file or a pipe."""
    (url,) = arguments
    try:
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
            await _without_silent_hosts(url), **options
        )
    except (ConnectionError, FileNotFoundError) as error:
        raise asyncpg.CannotConnectNowError(str(error)) from error
    return connection


async def _without_silent_hosts(url: str) -> str:
    """Of several hosts, those whose machine answers: the driver spends all of its time on the first that does
    not, as after the crash that a standby is for.
    """
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    named = hosts.split(",")
    if len(named) == 1:
        return url
    silent = await asyncio.gather(*map(_is_silent, named))
    left = [host for host, is_silent in zip(named, silent, strict=True) if not is_silent] or named
    return urlunsplit(parts._replace(netloc=user + at + ",".join(left)))


async def _is_silent(host: str) -> bool:
    """Whether its machine, however busy, lets us wait; one that refuses answers."""
    address = urlsplit(f"//{host}")
    try:
        async with asyncio.timeout(SILENT_HOST_S):
            _, writer = await asyncio.open_connection(address.hostname, address.port or POSTGRES_PORT)
    except TimeoutError:
        return True
    except (OSError, ValueError):
        return False  # the driver knows what to say of it
    writer.close()
    return False


async def _initialise(
    connection: Connection, greet: Greeting | None = None, *, gives_up: bool = True
) -> None:
    _keep_alive(connection, gives_up=gives_up)
    await _prepare(connection)
    if connection.get_server_version().major >= TRANSACTION_TIMEOUT_SINCE:
        await connection.execute(queries("session")["no_transaction_timeout"])
    if greet is not None:
        await greet(connection)


async def _keep_session(connection: Connection) -> None:
    """Between two uses of a connection: nothing more than the rollback that asyncpg does by itself.

    Its default asks the server to forget session state. Nobody here sets any, and the question would be a
    third of the round trips of a claim.
    """


@asynccontextmanager
async def open_pool(
    url: str,
    *,
    size: int = 8,
    command_timeout_s: float = COMMAND_TIMEOUT_S,
    by_key: bool = False,
    greet: Greeting | None = None,
) -> AsyncIterator[Pool]:
    """A pool of at most `size` connections; closed, and its connections with it, on exit.

    `by_key`: its statements look rows up by their keys, as those of senders do: no sequential scans.
    `greet`: done on each connection before its first use; the server at its end may be another one.
    Raises Unreachable, AuthenticationError or ConfigurationError naming the database (without its password).
    """
    with translated(url):
        pool = await asyncpg.create_pool(
            url,
            connect=_connect,
            min_size=min(size, LEAST_OF_A_SENDER) if by_key else 1,
            max_size=size,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=command_timeout_s,
            server_settings=BY_KEY_SETTINGS if by_key else SERVER_SETTINGS,
            init=partial(_initialise, greet=greet),
            reset=_keep_session,
        )
    try:
        yield pool
    finally:
        await _close(pool)


async def _close(pool: Pool) -> None:
    try:
        await asyncio.wait_for(pool.close(), CLOSE_TIMEOUT_S)
    except (TimeoutError, *LOST_CONNECTION):
        pool.terminate()


def report_loop_errors(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """The exception handler of a loop: as asyncio's, but for the driver's echo of a connection that was cut.

    Whoever waited for it was told, and says so in a line; a future inside the driver holds the same error and
    nobody asks it.
    """
    if isinstance(context.get("exception"), asyncpg.PostgresConnectionError) and "future" in context:
        return
    loop.default_exception_handler(context)


def is_lost(connection: Connection) -> bool:
    """Whether a connection of a pool has ended."""
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        return True  # the pool took it back when it broke


class OwnConnection:
    """One connection of a pool for one user, who never waits behind the others for it."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._connection: asyncpg.pool.PoolConnectionProxy[asyncpg.Record] | None = None

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """For one task at a time. After an error the next use has another connection."""
        if self._connection is not None and is_lost(self._connection):
            await self.give_back()
        if self._connection is None:
            self._connection = await self._pool.acquire(timeout=5)
        try:
            yield self._connection
        except BaseException:
            await self.give_back()
            raise

    async def give_back(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._pool.release(connection)


async def connect(url: str, *, command_timeout_s: float = COMMAND_TIMEOUT_S) -> Connection:
    """One connection with the same settings as the pool's, for sessions that need their own (plan, lock).

    Raises what `open_pool` raises, and ConfigurationError where a pooler answers.
    """
    with translated(url):
        connection = await asyncpg.connect(
            await _without_silent_hosts(url),
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=command_timeout_s,
            server_settings=OWN_SESSION_SETTINGS,
        )
        try:
            await _require_server(connection, url)
            await _initialise(connection, gives_up=False)
        except BaseException:
            connection.terminate()
            raise
    return connection


async def close(connection: Connection) -> None:
    """Politely, but not for ever: what it was asked has been answered, and its locks and temporary tables go
    either way. A server that leaves meanwhile fails nothing any more.
    """
    assert isinstance(connection, asyncpg.Connection)
    try:
        await connection.close(timeout=CLOSE_TIMEOUT_S)
    except (*LOST_CONNECTION, asyncpg.PostgresError):  # a bare BrokenPipeError of the driver is among them
        connection.terminate()


async def _require_server(connection: Connection, url: str) -> None:
    """Another process behind the connection than the one that was promised is a pooler's.

    It keeps our settings from the server, durable commits among them, and may change the server without a
    word. In transaction mode locks and statements of a session are lost too.
    """
    if await connection.fetchval(queries("session")["backend"]) != connection.get_server_pid():
        raise pooled(url)
