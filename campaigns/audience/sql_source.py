"""An audience from a query of another Postgres database."""

from dataclasses import dataclass, field

from campaigns.audience.spool import Spool
from engine.store.foreign_query import read_query

FORM = "SQL"
WHERE = "--audience-sql"


@dataclass(frozen=True, slots=True)
class SqlQuery:
    """A query, and the URL of its database, which may hold a password."""

    query: str
    url: str = field(repr=False)


async def spool_query(source: SqlQuery, spool: Spool) -> dict[str, str]:
    """Write all rows to the spool; return what is noted with the campaign: the query and its snapshot."""
    found = await read_query(source.url, source.query, spool.write)
    spool.form, spool.header = FORM, list(found.columns)
    return {"query": source.query, "read_at": found.read_at.isoformat(timespec="milliseconds")}
