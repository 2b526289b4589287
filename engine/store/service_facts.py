"""The facts about numbers, templates and the account as the service last said them, and what people know.

The lists of the service change numbers and templates wherever they are read. So the facts are compared with
these tables from time to time, and each change is told by whoever finds it first.
"""

from collections.abc import Sequence

from drumbeat.engine.core.service_news import Fact, StoredFact, news_of
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.notifications import add_warning
from drumbeat.engine.store.queries import queries


async def store_facts(connection: Connection, facts: Sequence[StoredFact]) -> None:
    """Store what an event said. It joins the caller's transaction."""
    await connection.executemany(queries("service_facts")["store"], [tuple(fact) for fact in facts])


async def tell_news(connection: Connection) -> int:
    """Add a notification for each change that was not told yet. Return how many."""
    sql, told = queries("service_facts"), 0
    async with connection.transaction():
        await connection.execute(sql["look"])
        for row in await connection.fetch(sql["take_untold"]):
            number = row["phone_number_id"]
            fact = StoredFact(row["subject"], Fact(row["fact"]), row["word"])
            news = news_of(fact, row["name"] or row["subject"], row["told"])
            if news is not None:
                await add_warning(connection, news.code, news.words, number)
                told += 1
    return told
