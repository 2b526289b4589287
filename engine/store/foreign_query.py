"""The stream of rows of a person's query from a database that is not Drumbeat's own.

Law: the transaction is read-only and is rolled back, and the query is one statement. It is prepared first:
the server refuses several statements there, and names the columns before a row is read. COPY then streams the
rows as text. A cursor would need a round trip for each page, and would hold the snapshot for longer.

A read-only transaction lets many functions of the server have effects: they end other sessions, take locks,
read files, run a text as another statement, or reach other databases. The server calls all of them volatile.
So a query may name no volatile function that is written in C, but for some that only compute.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

import asyncpg

from drumbeat.engine.errors import ConfigurationError, Unreachable
from drumbeat.engine.store.connect_errors import safe_url
from drumbeat.engine.store.database import LOST_CONNECTION, Connection, close, connect_to_read
from drumbeat.engine.store.queries import queries

QUERY_S_MAX = 900  # a longer query holds back the clean-up of its database
# They are volatile because each call gives another value.
ONLY_COMPUTE = frozenset(
    {
        "array_sample",
        "array_shuffle",
        "bernoulli",
        "clock_timestamp",
        "current_query",
        "gen_random_bytes",
        "gen_random_uuid",
        "pg_is_in_recovery",
        "random",
        "random_normal",
        "system",
        "timeofday",
        "uuid_generate_v4",
        "uuidv4",
        "uuidv7",
    }
)
# A name that may be called: a comment may stand before the bracket. What only looks like one, such as words
# in a text, is taken for one too: a reader of SQL that is wrong would let a call through.
_CALLED = re.compile(r'([A-Za-z_][\w$]*)"?\s*(?=\(|/\*|--)')
_SPELT_BY_NUMBERS = re.compile(r'[uU]&"')  # an identifier whose characters are written as numbers
SETTING = "DRUMBEAT_AUDIENCE_DATABASE_URL"


@dataclass(frozen=True, slots=True)
class QueryRows:
    """The columns of a query that was read, and the time of its snapshot."""

    columns: Sequence[str]
    read_at: datetime


async def read_query(url: str, query: str, write: Callable[[bytes], None]) -> QueryRows:
    """Give all rows to `write` in Postgres' text format, in parts. An absent value is an empty text.

    Raises ConfigurationError if the query is wrong, writes, calls a function that may do more than read,
    returns no columns or takes longer than QUERY_S_MAX.
    """
    statement = query.strip().rstrip(";").rstrip()

    async def take(text: bytes) -> None:
        write(text)

    connection = await connect_to_read(url, setting=SETTING, command_timeout_s=QUERY_S_MAX)
    try:
        with _query_errors(safe_url(url)):
            transaction = connection.transaction(isolation="repeatable_read", readonly=True)
            await transaction.start()
            begun = await connection.fetchrow(queries("foreign_query")["begin_reading"], f"{QUERY_S_MAX}s")
            assert begun is not None
            await _require_harmless(connection, statement, safe_url(url))
            prepared = await connection.prepare(statement)
            columns = [attribute.name for attribute in prepared.get_attributes()]
            if not columns:
                raise ConfigurationError(
                    "the query returns no columns", where=safe_url(url), remedy="give a SELECT"
                )
            await connection.copy_from_query(
                f"\n{statement}\n", output=take, format="text", null="", timeout=QUERY_S_MAX
            )
            await transaction.rollback()
            return QueryRows(columns, begun["read_at"])
    finally:
        await close(connection)


def called_names(statement: str) -> set[str]:
    """Return the names that a statement may call as functions, in lower case. Some are none."""
    return {name.lower() for name in _CALLED.findall(statement)} - ONLY_COMPUTE


async def _require_harmless(connection: Connection, statement: str, where: str) -> None:
    """Raise ConfigurationError if the statement may call a function that does more than read."""
    if _SPELT_BY_NUMBERS.search(statement):
        raise ConfigurationError(
            'the query spells a name by numbers, with U&""', where=where, remedy="write the name itself"
        )
    names = sorted(called_names(statement))
    found = [row["name"] for row in await connection.fetch(queries("foreign_query")["volatile"], names)]
    if found:
        raise ConfigurationError(
            f"the query calls {', '.join(found)}, and it may only read",
            where=where,
            remedy="leave the call out, or read a view that has its value",
        )


@contextmanager
def _query_errors(where: str) -> Iterator[None]:
    try:
        yield
    except asyncpg.ReadOnlySQLTransactionError as error:
        raise ConfigurationError(
            f"the query writes, and it may only read: {error}", where=where, remedy="give a SELECT"
        ) from error
    except (asyncpg.QueryCanceledError, TimeoutError) as error:
        raise ConfigurationError(
            f"the query was cancelled, or took longer than {QUERY_S_MAX} s",
            where=where,
            remedy="make it faster, for example with an index, or read fewer rows",
        ) from error
    except LOST_CONNECTION as error:
        raise Unreachable(f"the connection was lost while the query ran: {error}", where=where) from error
    except asyncpg.PostgresError as error:
        hint = error.hint or "correct the query"
        raise ConfigurationError(
            f"the query cannot run: {error.message}", where=where, remedy=hint
        ) from error
