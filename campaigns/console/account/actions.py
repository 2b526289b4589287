"""The actions on the account: numbers, templates, users and tokens."""

from __future__ import annotations

from drumbeat.campaigns.account import numbers, templates
from drumbeat.campaigns.console.account.shapes import (
    DeletedTemplate,
    LimitRequest,
    NewToken,
    NumberLimit,
    NumberList,
    StoredUser,
    SubmittedTemplate,
    SubscriptionRequest,
    TemplateList,
    TemplateRequest,
    TemplateToDelete,
    TokenRequest,
    UserRequest,
)
from drumbeat.campaigns.console.web import users
from drumbeat.campaigns.console.web.access import Caller
from drumbeat.campaigns.console.web.cache import Kind, changes
from drumbeat.campaigns.console.web.context import Console
from drumbeat.campaigns.console.web.shapes import Removed
from drumbeat.campaigns.console.web.two_people import may_act
from drumbeat.campaigns.life.second_person import WAITS, Wish, raises_limit
from drumbeat.campaigns.results import subscriptions
from drumbeat.campaigns.results.subscriptions import NewSubscription
from drumbeat.engine.api.endpoints.templates import NewTemplate

NUMBERS: Kind[None, list[numbers.BusinessNumber]] = Kind("numbers")


@changes(NUMBERS)
async def sync_numbers(console: Console, caller: Caller) -> NumberList:
    """Read the numbers from the service."""
    async with console.account() as (service, waba_id):
        found = await numbers.sync_numbers(console.pool, service.numbers, waba_id, actor=caller.name)
    return {"numbers": found}


@changes(NUMBERS)
async def resume_number(console: Console, caller: Caller, name: str) -> numbers.ResumedNumber:
    return await numbers.resume_number(console.pool, name, actor=caller.name)


@changes(NUMBERS)
async def set_limit(console: Console, caller: Caller, name: str, asked: LimitRequest) -> NumberLimit:
    """Set the limit of a number. Where a start needs two people, so does a higher limit."""
    wished: NumberLimit = {
        "phone_number_id": name,
        "limit_per_s": asked.limit_per_s,
        "changed": True,
        "note": "",
    }
    present = [each for each in await numbers.list_numbers(console.pool) if each.phone_number_id == name]
    if present and raises_limit(present[0].limit_per_s, asked.limit_per_s):
        words = limit_words(asked.limit_per_s)
        if not await may_act(console, caller, Wish.LIMIT, name, words):
            return {**wished, "changed": False, "note": WAITS}
    await numbers.set_limit(console.pool, name, asked.limit_per_s, actor=caller.name)
    return wished


def limit_words(limit_per_s: float | None) -> str:
    return "the service's own limit" if limit_per_s is None else f"{limit_per_s:g}/s"


async def sync_templates(console: Console, caller: Caller) -> TemplateList:
    """Read the templates from the service."""
    async with console.account() as (service, waba_id):
        found = await templates.sync_templates(console.pool, service.templates, waba_id, actor=caller.name)
    return {"templates": found}


async def submit_template(console: Console, caller: Caller, asked: TemplateRequest) -> SubmittedTemplate:
    """Submit a template. Its review takes a while: ask for the template to see its status."""
    new = NewTemplate(**asked.model_dump())
    async with console.account() as (service, waba_id):
        created = await templates.create_template(console.pool, service, waba_id, new, actor=caller.name)
    return {
        "name": new.name,
        "language": new.language,
        "template_id": created.template_id,
        "status": created.status,
        "category": created.category,
    }


async def delete_template(
    console: Console, caller: Caller, name: str, asked: TemplateToDelete
) -> DeletedTemplate:
    """Delete a template, in all its languages or in one."""
    async with console.account() as (service, waba_id):
        deleted = await templates.delete_template(
            console.pool, service, waba_id, name, asked.language, actor=caller.name
        )
    return {"name": name, "languages": [each.language for each in deleted]}


async def store_user(console: Console, caller: Caller, name: str, asked: UserRequest) -> StoredUser:
    """Add a user, or change role or password."""
    await users.store_user(
        console.pool, name, asked.role, asked.password, actor=caller.name, keeps_manager=True
    )
    return {"name": name, "role": asked.role}


async def remove_user(console: Console, caller: Caller, name: str) -> Removed:
    await users.remove_user(console.pool, name, actor=caller.name, keeps_manager=True)
    return {"name": name}


async def end_sessions(console: Console, caller: Caller, name: str) -> Removed:
    await users.end_sessions_of(console.pool, name, actor=caller.name)
    return {"name": name}


async def add_token(console: Console, caller: Caller, asked: TokenRequest) -> NewToken:
    """Create a token. A repeated request is refused, because the name is taken. The secret is stored nowhere,
    so a repeat cannot get it.
    """
    secret = await users.add_token(
        console.pool, asked.name, asked.role, actor=caller.name, person=caller.person
    )
    return {"name": asked.name, "role": asked.role, "token": secret}


async def remove_token(console: Console, caller: Caller, name: str) -> Removed:
    await users.remove_token(console.pool, name, actor=caller.name)
    return {"name": name}


async def add_subscription(console: Console, caller: Caller, asked: SubscriptionRequest) -> NewSubscription:
    """Store a subscription. A repeated request is refused, because the name is taken."""
    return await subscriptions.add_subscription(console.pool, **asked.model_dump(), actor=caller.name)


async def remove_subscription(console: Console, caller: Caller, name: str) -> Removed:
    await subscriptions.remove_subscription(console.pool, name, actor=caller.name)
    return {"name": name}
