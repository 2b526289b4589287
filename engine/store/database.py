"""Connections to Postgres: one way to open them, with time-outs and keepalives on every one."""

import asyncio
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from typing import Any, TypeAlias

import asyncpg
import orjson

from engine.errors import AuthenticationError, ConfigurationError, Unreachable
from engine.system_word import system_word

Pool: TypeAlias = "asyncpg.Pool[asyncpg.Record]"
Connection: TypeAlias = (
    "asyncpg.Connection[asyncpg.Record] | asyncpg.pool.PoolConnectionProxy[asyncpg.Record]"
)

_SCHEMES = ("postgresql://", "postgres://")
_SECRET_OPTION = re.compile(r"((?:^|&)(?:ssl)?password=)[^&]*", re.IGNORECASE)
_HOST = r"(?:\[[^\]]*\]|[^:/@\[]*)(?::\d*)?"
# Of a URL up to its options, behind the scheme: hosts with their ports, and the database.
_NO_PASSWORD = re.compile(rf"{_HOST}(?:,{_HOST})*(?:/.*)?")

Greeting: TypeAlias = Callable[[Connection], Awaitable[object]]

CONNECT_TIMEOUT_S = 10.0
# Longer than any statement of the sending path; planning and maintenance pass their own.
COMMAND_TIMEOUT_S = 30.0
# A server's machine that acknowledges nothing for so long is gone, or the way to it: twice a lease, and long
# enough for a switch to fail over. A slow statement is no such silence: its machine acknowledges meanwhile.
UNACKNOWLEDGED_S = 10
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
}
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
    try:
        connection: asyncpg.Connection[asyncpg.Record] = await asyncpg.connect(*arguments, **options)
    except (ConnectionError, FileNotFoundError) as error:
        raise asyncpg.CannotConnectNowError(str(error)) from error
    return connection


async def _initialise(
    connection: Connection, greet: Greeting | None = None, *, gives_up: bool = True
) -> None:
    _keep_alive(connection, gives_up=gives_up)
    await _prepare(connection)
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
    with _translated(url):
        pool = await asyncpg.create_pool(
            url,
            connect=_connect,
            min_size=1,
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
        await asyncio.wait_for(pool.close(), 5)
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
    """One connection with the same settings as the pool's, for sessions that need their own (plan, lock)."""
    with _translated(url):
        connection = await asyncpg.connect(
            url,
            timeout=CONNECT_TIMEOUT_S,
            command_timeout=command_timeout_s,
            server_settings=OWN_SESSION_SETTINGS,
        )
    await _initialise(connection, gives_up=False)
    return connection


def safe_url(url: str) -> str:
    """The URL with its passwords masked, for messages. Of a password that has a ? in it, which must be
    written %3F, nobody knows where it ends: nothing behind it is shown.
    """
    place, question, options = url.partition("?")
    head, at, tail = place.rpartition("@")
    scheme, slashes, user = (head if at else place).partition("://")
    if not slashes:  # a path, or somebody forgot it
        scheme, user = "", scheme
    name, colon, _ = user.partition(":")
    if at:
        masked = f"{scheme}{slashes}{name}{':***' if colon else ''}@{tail}"
    elif _NO_PASSWORD.fullmatch(user) and "@" not in options.partition("=")[0]:
        masked = place
    else:
        return f"{scheme}{slashes}{name}:***"
    return masked + question + _SECRET_OPTION.sub(r"\1***", options)


@contextmanager
def _translated(url: str) -> Iterator[None]:
    """Turns what connecting raises into one clear error."""
    where = safe_url(url)
    try:
        yield
    except (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InvalidPasswordError) as error:
        raise AuthenticationError(f"the database {where} refused the user or password") from error
    except asyncpg.InvalidCatalogNameError as error:
        raise ConfigurationError(f"there is no such database: {where}; create it first") from error
    except (ValueError, asyncpg.ClientConfigurationError) as error:
        # Without its cause: a ValueError quotes what was taken for a port, perhaps of a password.
        remedy = _how_to_write_it(url, error)
        raise ConfigurationError("the database URL cannot be read", where=where, remedy=remedy) from None
    except (TimeoutError, OSError, asyncpg.PostgresError) as error:
        raise Unreachable(
            f"the database {where} does not answer: {system_word(error)}; "
            "is it running, and is DRUMBEAT_DATABASE_URL right?"
        ) from error


def _how_to_write_it(url: str, error: Exception) -> str:
    """In the words of the driver where they quote nothing."""
    if isinstance(error, asyncpg.ClientConfigurationError) and url.startswith(_SCHEMES):
        return str(error)
    return (
        "it is like postgresql://user:password@host:5432/name; in a password / : @ ? # % are written %2F %3A"
        " %40 %3F %23 %25"
    )
