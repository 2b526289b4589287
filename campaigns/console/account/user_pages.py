"""The pages of users, and of tokens of programs, for those who manage them."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from drumbeat.campaigns.console.account import actions
from drumbeat.campaigns.console.account.shapes import TokenRequest, UserRequest
from drumbeat.campaigns.console.web.context import caller_of, console_of
from drumbeat.campaigns.console.web.forms import field_of, form_of
from drumbeat.campaigns.console.web.problems import Problem, problem_of
from drumbeat.campaigns.console.web.rendering import page, path_of, redirect
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import list_tokens, list_users, user_named
from drumbeat.engine.errors import NotFound, UsageError

USERS, TOKENS = "/users", "/tokens"


async def show_users(
    request: web.Request, problem: Problem | None = None, *, name: str = "", role: str = Role.LOOK
) -> web.Response:
    """Show the users. `name` and `role` are the values that were typed."""
    users = await list_users(console_of(request).pool)
    typed = {"name": name, "role": role if users else Role.MANAGE}
    return page(request, "users.html.j2", users=users, problem=problem, typed=typed, roles=list(Role))


async def add(request: web.Request) -> web.Response:
    """Add a user. A name that exists is refused: role and password are changed on the user's own page."""
    name, role = await field_of(request, "name"), await field_of(request, "role")
    try:
        await _require_new(request, name)
        await _store(request, name)
    except UsageError as error:
        return await show_users(request, problem_of(error), name=name, role=role)
    return redirect(USERS)


async def _require_new(request: web.Request, name: str) -> None:
    if any(user.name == name for user in await list_users(console_of(request).pool)):
        raise UsageError(f'there is a user "{name}" already', remedy="change that user, or use another name")


async def _store(request: web.Request, name: str) -> None:
    password = str((await form_of(request)).get("password", ""))
    role = _role(await field_of(request, "role"))
    asked = UserRequest(role=role, password=password or None)
    await actions.store_user(console_of(request), caller_of(request), name, asked)


def _role(text: str) -> Role:
    try:
        return Role(text)
    except ValueError:
        raise UsageError(f"{text!r} is no role", remedy=f"use one of {', '.join(Role)}") from None


async def show_user(request: web.Request, problem: Problem | None = None) -> web.Response:
    user = await user_named(console_of(request).pool, request.match_info["name"])
    return page(request, "user.html.j2", user=user, problem=problem, roles=list(Role))


async def change(request: web.Request) -> web.Response:
    """Change the role, and the password if one was typed."""
    name = (await user_named(console_of(request).pool, request.match_info["name"])).name
    try:
        await _store(request, name)
    except UsageError as error:
        return await show_user(request, problem_of(error))
    return redirect(path_of("users", name))


async def sign_out(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    await actions.end_sessions(console_of(request), caller_of(request), name)
    return redirect(path_of("users", name))


async def ask_remove(request: web.Request) -> web.Response:
    user = await user_named(console_of(request).pool, request.match_info["name"])
    return _ask(request, "users", user.name)


async def remove(request: web.Request) -> web.Response:
    try:
        await actions.remove_user(console_of(request), caller_of(request), request.match_info["name"])
    except UsageError as error:
        return await show_user(request, problem_of(error))
    return redirect(USERS)


def _ask(request: web.Request, kind: str, name: str) -> web.Response:
    """Show the page that confirms an action that cannot be undone."""
    return page(request, "remove.html.j2", kind=kind, name=name)


async def show_tokens(request: web.Request, status: int | None = None, **given: Any) -> web.Response:
    values = {"typed": {"name": "", "role": Role.LOOK}, "made": None, **given}
    tokens = await list_tokens(console_of(request).pool)
    return page(request, "tokens.html.j2", status, tokens=tokens, roles=list(Role), **values)


async def make_token(request: web.Request) -> web.Response:
    """Make a token, and show its secret in the reply to the form. It is stored nowhere, so no other page
    could show it. A form that is sent again is refused, because its name is taken.
    """
    name, role = await field_of(request, "name"), await field_of(request, "role")
    try:
        asked = TokenRequest(name=name, role=_role(role))
        made = await actions.add_token(console_of(request), caller_of(request), asked)
    except UsageError as error:
        return await show_tokens(request, problem=problem_of(error), typed={"name": name, "role": role})
    return await show_tokens(request, 201, made=made)


async def ask_remove_token(request: web.Request) -> web.Response:
    name = request.match_info["name"]
    if all(token.name != name for token in await list_tokens(console_of(request).pool)):
        raise NotFound(f'there is no token "{name}"')
    return _ask(request, "tokens", name)


async def remove_token_named(request: web.Request) -> web.Response:
    await actions.remove_token(console_of(request), caller_of(request), request.match_info["name"])
    return redirect(TOKENS)
