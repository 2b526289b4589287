"""A program that steers Drumbeat with a client that openapi-python-client generated from our document.

tests/programs/test_generated_client.py generates `drumbeat_client`, runs this and has mypy read it.
"""

from __future__ import annotations

import asyncio
from io import BytesIO
from typing import TypeVar

from drumbeat_client import AuthenticatedClient
from drumbeat_client.api.campaigns import (
    create_campaign,
    get_campaign,
    get_campaign_preview,
    get_campaign_results,
    start_campaign,
)
from drumbeat_client.api.events import list_events
from drumbeat_client.api.messages import send_message
from drumbeat_client.api.subscriptions import create_subscription
from drumbeat_client.models import (
    CreateRequest,
    CreateUpload,
    EventKind,
    Job,
    MessageRequest,
    Problem,
    SubscriptionRequest,
)
from drumbeat_client.types import File

Reply = TypeVar("Reply")


class Refused(Exception):
    """An answer that is no success. `code` is the word to rely on."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.detail)
        self.code = problem.code.value


def good(reply: Reply | Problem | Job | None) -> Reply:
    """Return the reply; raise Refused if it is a problem."""
    if isinstance(reply, Problem):
        raise Refused(reply)
    assert reply is not None and not isinstance(reply, Job)
    return reply


async def create(client: AuthenticatedClient, number: str, rows: str) -> int:
    """Create a campaign, look at its first message, and start it. Return its recipients."""
    spec = CreateRequest(
        name="spring",
        template="order_shipped",
        language="en_US",
        number=[number],
        param=["first_name", "order"],
    )
    body = CreateUpload(spec, File(BytesIO(rows.encode()), "people.csv", "text/csv"))
    created = good(await create_campaign.asyncio(client=client, body=body, idempotency_key="create-spring"))
    again = good(await create_campaign.asyncio(client=client, body=body, idempotency_key="create-spring"))
    assert created == again
    preview = good(await get_campaign_preview.asyncio("spring", client=client))
    assert preview.message.body is not None and "Ada" in preview.message.body
    good(await start_campaign.asyncio("spring", client=client))
    return good(await get_campaign.asyncio("spring", client=client)).recipients


async def wait_for(client: AuthenticatedClient, after: int, kind: EventKind, count: int) -> list[str]:
    """Follow the events until `count` of this kind came. Return their phones."""
    phones: list[str] = []
    while len(phones) < count:
        page = good(await list_events.asyncio(client=client, after=after, kind=[kind], limit=2))
        phones += [event.phone for event in page.events if event.phone is not None]
        after = page.next_
        if not page.more:
            await asyncio.sleep(0.02)
    return phones


async def story(client: AuthenticatedClient, number: str, rows: str) -> list[str]:
    """Run a campaign and send one message. Return the phones that a message was delivered to."""
    new = good(await create_subscription.asyncio(client=client, body=SubscriptionRequest(name="crm")))
    recipients = await create(client, number, rows)
    phones = await wait_for(client, new.after, EventKind.DELIVERED, recipients)
    while (status := good(await get_campaign.asyncio("spring", client=client))).state.value != "finished":
        await asyncio.sleep(0.02)
    results = good(await get_campaign_results.asyncio("spring", client=client))
    assert results is not None and status.recipients == recipients
    message = MessageRequest(
        to="+14155550199", number=number, template="order_shipped", language="en_US", params=["Bo", "7"]
    )
    accepted = good(await send_message.asyncio(client=client, body=message, idempotency_key="hello"))
    assert accepted == good(await send_message.asyncio(client=client, body=message, idempotency_key="hello"))
    return [*phones, *(await wait_for(client, new.after, EventKind.DELIVERED, recipients + 1))[recipients:]]
