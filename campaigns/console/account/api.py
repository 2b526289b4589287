"""The replies of the interface about the account."""

from __future__ import annotations

from drumbeat.campaigns.account.numbers import list_numbers
from drumbeat.campaigns.account.templates import list_templates, templates_named
from drumbeat.campaigns.console.account.shapes import (
    AuditQuery,
    EventsQuery,
    NumberList,
    SubscriptionList,
    TemplateList,
    TokenList,
    UserList,
)
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.console.web.users import list_tokens, list_users
from drumbeat.campaigns.results.audit_pages import AuditPage, audit_page
from drumbeat.campaigns.results.subscriptions import (
    Subscription,
    find_subscription,
    list_subscriptions,
    read_events,
)
from drumbeat.engine.store.recipient_events import EventPage


async def numbers(console: Console) -> NumberList:
    return {"numbers": await list_numbers(console.pool)}


async def templates(console: Console) -> TemplateList:
    return {"templates": await list_templates(console.pool)}


async def template(console: Console, name: str) -> TemplateList:
    """Return a template in each of its languages."""
    return {"templates": await templates_named(console.pool, name)}


async def audit(console: Console, asked: AuditQuery) -> AuditPage:
    return await audit_page(console.pool, before=asked.before, limit=asked.limit)


async def users(console: Console) -> UserList:
    return {"users": await list_users(console.pool)}


async def tokens(console: Console) -> TokenList:
    return {"tokens": await list_tokens(console.pool)}


async def subscriptions(console: Console) -> SubscriptionList:
    return {"subscriptions": await list_subscriptions(console.pool)}


async def subscription(console: Console, name: str) -> Subscription:
    return await find_subscription(console.pool, name)


async def events(console: Console, asked: EventsQuery) -> EventPage:
    """Return the events after a number."""
    return await read_events(
        console.pool, asked.after, asked.limit, campaign=asked.campaign, kinds=asked.kind
    )
