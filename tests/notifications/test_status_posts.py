"""Statuses are posted in order and signed, and none is left out, whatever the program answers."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import SecretStr

from drumbeat.engine.notifications.signed_post import SIGNATURE_HEADER, signature
from drumbeat.engine.notifications.status_posts import StatusPoster
from drumbeat.engine.process.notification_settings import WebhookSettings
from drumbeat.engine.store.database import Connection, Pool
from drumbeat.engine.store.status_applier import apply_statuses
from tests.kit.waiting import until
from tests.notifications.sinks import Hook, hook
from tests.store.test_status_feed import DELIVERED, SENT, plant, tagged

SECRET = "a secret of ours"


@asynccontextmanager
async def posting(pool: Pool, url: str) -> AsyncIterator[None]:
    ended = asyncio.Event()
    poster = StatusPoster(pool, WebhookSettings(SecretStr(url), SecretStr(SECRET)), look_s=0.01)
    task = asyncio.create_task(poster.run(ended))
    try:
        yield
    finally:
        ended.set()
        await task


async def feed(connection: Connection, *changes: tuple[int, int]) -> None:
    for seq, rank in changes:
        await tagged(connection, seq, rank)
        await apply_statuses(connection, feeds=True)


def posted(sink: Hook) -> list[tuple[str, str]]:
    return [(each["id"], each["status"]) for post in sink.posted for each in post.json["statuses"]]


async def test_batches_are_signed_and_come_once_in_order(pool: Pool, connection: Connection) -> None:
    await plant(connection)
    await feed(connection, (1, SENT), (2, SENT), (1, DELIVERED))
    async with hook() as sink, posting(pool, sink.url):
        await until(lambda: len(posted(sink)) == 3)
        await feed(connection, (2, DELIVERED))
        await until(lambda: len(posted(sink)) == 4)
    assert [status for _, status in posted(sink)] == ["sent", "sent", "delivered", "delivered"]
    first = sink.posted[0]
    at_s = int(first.headers[SIGNATURE_HEADER].partition(",")[0].removeprefix("t="))
    assert first.headers[SIGNATURE_HEADER] == signature(first.body, SECRET, at_s)
    assert first.json["schema"] == 1 and first.json["next"] == first.json["statuses"][-1]["id"]


async def test_what_is_refused_comes_again_and_nothing_is_left_out(
    pool: Pool, connection: Connection
) -> None:
    await plant(connection)
    await feed(connection, (1, SENT), (2, SENT))
    async with hook(status=500) as sink, posting(pool, sink.url):
        await until(lambda: len(sink.posted) >= 1)
    await connection.execute("UPDATE status_feed_position SET due_at = now()")
    async with hook() as sink, posting(pool, sink.url):
        await until(lambda: len(posted(sink)) == 2)
    await connection.execute(
        "UPDATE status_feed_position SET leased_until = now() + interval '1 hour'"
    )  # a killed one
    await feed(connection, (1, DELIVERED))
    await connection.execute("UPDATE status_feed_position SET leased_until = now()")
    async with hook() as sink, posting(pool, sink.url):
        await until(lambda: len(posted(sink)) == 1)
    assert posted(sink)[0][1] == "delivered"
