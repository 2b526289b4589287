"""The users and tokens in the interface, for those who manage them."""

from __future__ import annotations

from aiohttp import web

from drumbeat.campaigns.console.campaigns.shapes import TokenRequest, UserRequest
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.replying import body_of, reply
from drumbeat.campaigns.console.web.users import (
    add_token,
    end_sessions_of,
    list_tokens,
    list_users,
    remove_token,
    remove_user,
    store_user,
)


async def users(request: web.Request) -> web.Response:
    return reply({"users": await list_users(console_of(request).pool)})


async def store(request: web.Request) -> web.Response:
    asked, name = await body_of(request, UserRequest), request.match_info["name"]
    pool, actor = console_of(request).pool, caller_of(request).name
    await store_user(pool, name, asked.role, asked.password, actor=actor, keeps_manager=True)
    return reply({"name": name, "role": asked.role})


async def remove(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    await remove_user(console_of(request).pool, name, actor=caller_of(request).name, keeps_manager=True)
    return reply({"name": name})


async def end_sessions(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    await end_sessions_of(console_of(request).pool, name, actor=caller_of(request).name)
    return reply({"name": name})


async def tokens(request: web.Request) -> web.Response:
    return reply({"tokens": await list_tokens(console_of(request).pool)})


async def create_token(request: web.Request) -> web.Response:
    """Create a token. A repeated request is refused, because the name is taken. The secret is stored nowhere,
    so a repeat cannot get it.
    """
    asked = await body_of(request, TokenRequest)
    pool, caller = console_of(request).pool, caller_of(request)
    secret = await add_token(pool, asked.name, asked.role, actor=caller.name, person=caller.person)
    return reply({"name": asked.name, "role": asked.role, "token": secret}, 201)


async def delete_token(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    await remove_token(console_of(request).pool, name, actor=caller_of(request).name)
    return reply({"name": name})
