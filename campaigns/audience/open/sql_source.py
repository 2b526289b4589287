"""An audience from a query of another Postgres database."""

from drumbeat.campaigns.audience.open.spool import Spool
from drumbeat.campaigns.options.sources import SqlQuery
from drumbeat.engine.store.foreign_query import read_query

FORM = "SQL"


async def spool_query(source: SqlQuery, spool: Spool) -> dict[str, str]:
    """Write all rows to the spool; return what is noted with the campaign: the query and its snapshot."""
    found = await read_query(source.url, source.query, spool.write)
    spool.form, spool.header = FORM, list(found.columns)
    return {"query": source.query, "read_at": found.read_at.isoformat(timespec="milliseconds")}
