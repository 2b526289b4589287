"""The connections to Postgres. All are opened here, with time-outs and keepalives."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import asyncpg
import orjson

from drumbeat.engine.store.connect_errors import pooler_error, translate_connect_errors
from drumbeat.engine.store.queries import queries
from drumbeat.engine.store.schema_version import announce
from drumbeat.engine.store.statement_times import STATEMENT_TIMES

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)

Greeting: TypeAlias = Callable[[Connection], Awaitable[object]]

CONNECT_TIMEOUT_S = 10.0
CLOSE_TIMEOUT_S = 5.0
# How long one of several hosts may take to answer. The kernel of a machine answers, not its busy server, so
# this is less than any wait for a connection.
UNANSWERED_HOST_S = 2.0
POSTGRES_PORT = 5432
# Longer than any statement of the sending path. Planning and maintenance pass their own.
COMMAND_TIMEOUT_S = 30.0
# If the server's machine acknowledges no packet for so long, the machine or the network is down. This is
# twice a lease, and long enough for a network switch to fail over. A slow statement does not count: its
# machine acknowledges.
UNACKNOWLEDGED_S = 10
# A sender needs one connection for outcomes, one for claims, and one for everything else.
SENDER_CONNECTIONS_MIN = 3
SERVER_SETTINGS = {
    # ms; below the lease, so that a suspended process holds no locks when its number is taken over
    "idle_in_transaction_session_timeout": "4000",
    "lock_timeout": "20000",  # milliseconds
    "tcp_keepalives_idle": "15",  # seconds; the server notices a lost client within half a minute
    "tcp_keepalives_interval": "5",
    "tcp_keepalives_count": "3",
    # Claims must be durable, whatever the server's default: a claim that a crash undoes would be made again.
    "synchronous_commit": "on",
    "jit": "off",  # statements are short: compiling costs more than it saves
    # These replace the server's own: each statement has a time-out of ours, and while millions of recipients
    # are planned, one of two sessions may be idle for long.
    "statement_timeout": "0",
    "idle_session_timeout": "0",
    # A transaction that waited for a lock must see what was committed meanwhile. Facts are stored only once
    # because of that.
    "default_transaction_isolation": "read committed",
}
PROGRAM = "drumbeat"  # the first word of a session's name in pg_stat_activity
TRANSACTION_TIMEOUT_SINCE = 17  # the first version of Postgres with that setting
# A connection keeps a plan for minutes. A plan that was made while a table was empty would read all of it
# later.
BY_KEY_SETTINGS = {**SERVER_SETTINGS, "enable_seqscan": "off"}
# A session of `connect` (planning, migrating) may wait for its caller: it holds no lock that a sender needs.
OWN_SESSION_SETTINGS = {**SERVER_SETTINGS, "idle_in_transaction_session_timeout": "60000"}
LOST_CONNECTION = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # a statement was sent while the server closed the connection
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    # SQLSTATE 55000: lock time-outs, and databases that allow no new connections
    asyncpg.ObjectNotInPrerequisiteStateError,
    asyncpg.DeadlockDetectedError,
    asyncpg.SerializationError,
    asyncpg.QueryCanceledError,
    asyncpg.InternalServerError,
    asyncpg.IdleInTransactionSessionTimeoutError,
    asyncpg.ReadOnlySQLTransactionError,
)
"""The errors of a statement for which the database is at fault, so that it is worth repeating."""


def _named(settings: dict[str, str]) -> dict[str, str]:
    """Return the settings of a session with the name of its process: of a long host name, the server cuts the
    end.
    """
    return {**settings, "application_name": f"{PROGRAM} {os.getpid()} {socket.gethostname()}"}


def program_of(session: str) -> str:
    """Return the process of a session, for messages, by the session's name."""
    _, pid, host = (*session.split(" ", 2), "", "")[:3]
    return f"{host}, process {pid}" if host else session


async def _prepare(connection: Connection) -> None:
    await connection.set_type_codec(
        "jsonb", encoder=_encode_json, decoder=orjson.loads, schema="pg_catalog", format="text"
    )


def _encode_json(value: object) -> str:
    return orjson.dumps(value).decode()


def _keep_alive(connection: Connection, *, gives_up: bool) -> None:
    """Notice a half-open connection while no statement runs, by keepalives of the client.

    `gives_up`: notice it while a statement runs too. The kernel then repeats data and sends no keepalives. Do
    not use it for sessions that stream: a server that takes no data for a while looks the same.
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
    """Connect with the driver. If there is no server, the error is one of the database, not of a file."""
    (url,) = arguments
    try:
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(
            await _without_unanswered_hosts(url), **options
        )
    except (ConnectionError, FileNotFoundError) as error:
        raise asyncpg.CannotConnectNowError(str(error)) from error
    return connection


async def _without_unanswered_hosts(url: str) -> str:
    """Return the URL; of several hosts, with only those whose machine answers.

    The driver would spend all of its time on the first host that does not answer, as after a crash.
    """
    parts = urlsplit(url)
    user, at, hosts = parts.netloc.rpartition("@")
    named = hosts.split(",")
    if len(named) == 1:
        return url
    unanswered = await asyncio.gather(*map(_is_unanswered, named))
    left = [host for host, is_unanswered in zip(named, unanswered, strict=True) if not is_unanswered] or named
    return urlunsplit(parts._replace(netloc=user + at + ",".join(left)))


async def _is_unanswered(host: str) -> bool:
    """Return whether the machine gives no answer at all. A refusal is an answer."""
    address = urlsplit(f"//{host}")
    try:
        async with asyncio.timeout(UNANSWERED_HOST_S):
            _, writer = await asyncio.open_connection(address.hostname, address.port or POSTGRES_PORT)
    except TimeoutError:
        return True
    except (OSError, ValueError):
        return False  # the driver reports it
    writer.close()
    return False


async def _initialise(
    connection: Connection, greet: Greeting | None = None, *, gives_up: bool = True, timed: bool = False
) -> None:
    if timed:
        connection.add_query_logger(STATEMENT_TIMES.observe)
    _keep_alive(connection, gives_up=gives_up)
    await _prepare(connection)
    if connection.get_server_version().major >= TRANSACTION_TIMEOUT_SINCE:
        await connection.execute(queries("session")["no_transaction_timeout"])
    await announce(connection)
    if greet is not None:
        await greet(connection)


async def _keep_session(connection: Connection) -> None:
    """Do nothing between two uses of a connection; asyncpg itself rolls back.

    Its default would reset the session's state. Nothing here sets any, and the round trip would be a third of
    those of a claim.
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
    """Open a pool of at most `size` connections, which is closed on exit.

    `by_key`: statements look rows up by key, as those of senders do, and never scan a table; their times are
    measured for metrics. `greet` is called on each new connection before its first use, because its server
    may be another one. Raises Unreachable, AuthenticationError or ConfigurationError, which name the database
    without its password.
    """
    with translate_connect_errors(url):
        pool = await asyncpg.create_pool(
            url,
            connect=_connect,
            min_size=min(size, SENDER_CONNECTIONS_MIN) if by_key else 1,
            max_size=size,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=command_timeout_s,
            server_settings=_named(BY_KEY_SETTINGS if by_key else SERVER_SETTINGS),
            init=partial(_initialise, greet=greet, timed=by_key),
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
    """Handle errors of a loop as asyncio does, but without the driver's second report of a lost connection.

    The task that used the connection got the error and logs it. A future inside the driver holds the same
    error, and nothing awaits it.
    """
    if isinstance(context.get("exception"), asyncpg.PostgresConnectionError) and "future" in context:
        return
    loop.default_exception_handler(context)


def is_lost(connection: Connection) -> bool:
    """Return whether a connection of a pool has ended."""
    try:
        return connection.is_closed()
    except asyncpg.InterfaceError:
        return True  # the pool took it back when it was lost


class OwnConnection:
    """A connection of a pool that one user keeps, so that it never waits for the others."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._connection: asyncpg.pool.PoolConnectionProxy[asyncpg.Record] | None = None

    @asynccontextmanager
    async def use(self) -> AsyncIterator[Connection]:
        """Lend the connection to one task at a time. After an error, the next use gets another connection."""
        if self._connection is not None and is_lost(self._connection):
            await self.release()
        if self._connection is None:
            self._connection = await self._pool.acquire(timeout=5)
        try:
            yield self._connection
        except BaseException:
            await self.release()
            raise

    async def release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            await self._pool.release(connection)


async def connect(url: str, *, command_timeout_s: float = COMMAND_TIMEOUT_S) -> Connection:
    """Open one connection with the pool's settings, for work that needs its own session (planning, locks).

    Raises what `open_pool` raises, and ConfigurationError if a connection pooler answers.
    """
    with translate_connect_errors(url):
        connection = await asyncpg.connect(
            await _without_unanswered_hosts(url),
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=command_timeout_s,
            server_settings=_named(OWN_SESSION_SETTINGS),
        )
        try:
            await _require_server(connection, url)
            await _initialise(connection, gives_up=False)
        except BaseException:
            connection.terminate()
            raise
    return connection


async def connect_to_read(url: str, *, setting: str, command_timeout_s: float) -> Connection:
    """Open a connection to a database that is not Drumbeat's own, perhaps a standby or behind a pooler.

    It changes no setting of the session, since a pooler would refuse that. `setting` is where the URL comes
    from. Raises as `connect` does.
    """
    with translate_connect_errors(url, setting):
        return await _connect(
            url, timeout=CONNECT_TIMEOUT_S, command_timeout=command_timeout_s, statement_cache_size=0
        )


async def close(connection: Connection) -> None:
    """Close in order, or terminate after CLOSE_TIMEOUT_S: its statements are answered, and its locks end."""
    assert isinstance(connection, asyncpg.Connection)
    try:
        await connection.close(timeout=CLOSE_TIMEOUT_S)
    except (*LOST_CONNECTION, asyncpg.PostgresError):  # LOST_CONNECTION covers the driver's BrokenPipeError
        connection.terminate()


async def _require_server(connection: Connection, url: str) -> None:
    """Raise ConfigurationError if another server process answers than the one that accepted us: a pooler.

    A pooler keeps our settings from the server, such as durable commits, and may change the server unnoticed.
    In transaction mode, a session also loses its locks and statements.
    """
    if await connection.fetchval(queries("session")["backend"]) != connection.get_server_pid():
        raise pooler_error(url)
