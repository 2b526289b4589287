"""The operations of the HTTP interface: an action each, with its address and the words of the document."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, get_type_hints

from aiohttp import web
from pydantic import BaseModel

from drumbeat.campaigns.console.web.access import Caller
from drumbeat.campaigns.console.web.context import Console, Handler, caller_of, console_of, set_own_name
from drumbeat.campaigns.console.web.replying import body_of, once, query_of, reply, worked
from drumbeat.campaigns.console.web.shapes import NoQuery
from drumbeat.campaigns.progress import ProgressCallback, no_progress

PREFIX = "/api/v1"
JSON, CSV, EVENTS = "application/json", "text/csv", "text/event-stream"
WITH_BODY = frozenset({"POST", "PUT", "PATCH"})

# An action takes the console, and those of these that it names: `caller`, `name` (the variable of the path),
# `asked` (of a class of pydantic) and `progress`.
Action = Callable[..., Awaitable[Any]]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of the interface. Its reply is what the action returns, or what the handler sends if it
    has one. `reply` is the class that describes the reply; None stands for any text of the media type, or of
    `other_media_types`, which a parameter asks for.

    `takes_key`: it takes an Idempotency-Key. `needs_key`: it needs one. `takes_long`: it may be answered with
    202 and the address of its job. `is_costly`: whether that job waits for its turn. `own_name`: finds the
    own name of a thing that has several.
    """

    method: str
    path: str
    summary: str
    handler: Handler | None = None
    reply: Any = None
    query: type[BaseModel] = NoQuery
    request: type[BaseModel] | None = None
    status: int = 200
    media_type: str = JSON
    other_media_types: tuple[str, ...] = ()
    request_type: str = JSON
    takes_key: bool = False
    needs_key: bool = False
    takes_long: bool = False
    action: Action | None = None
    is_costly: Callable[[Console, str], Awaitable[bool]] | None = None
    own_name: Callable[[Console, str], Awaitable[str]] | None = None

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """Answer a request. It is read before the thing that it names is looked for."""
        if self.handler is not None:
            return await self.handler(request)
        console, name = console_of(request), next(iter(request.match_info.values()), "")
        body = self.request
        asked = query_of(request, self.query) if body is None else await body_of(request, body)
        if self.own_name is not None:
            name = await self.own_name(console, name)
            set_own_name(request, name)

        async def work(progress: ProgressCallback = no_progress) -> Any:
            return await self._value(console, caller_of(request), name, asked, progress)

        content = await request.read()
        if self.takes_long:
            costly = self.is_costly is None or await self.is_costly(console, name)
            return await worked(request, content, work, takes_key=self.takes_key, costly=costly)
        if self.takes_key:
            return reply(await once(request, content, work, required=self.needs_key), self.status)
        return reply(await work(), self.status)

    async def _value(
        self, console: Console, caller: Caller, name: str, asked: BaseModel, progress: ProgressCallback
    ) -> Any:
        """Return the value of the action, as JSON if it is none but can make it."""
        assert self.action is not None
        taken = inspect.signature(self.action).parameters
        given = {"caller": caller, "name": name, "asked": asked, "progress": progress}
        value = await self.action(console, **{key: given[key] for key in given if key in taken})
        is_described = self.reply is _hints(self.action)["return"]
        return value if is_described or not hasattr(value, "as_json") else value.as_json()


def of_action(
    method: str, path: str, summary: str, action: Action, *, in_query: bool = False, **more: Any
) -> Operation:
    """Return the operation of an action. What it is asked is in the body, or in the address of a request
    without one. `in_query`: it is in the address all the same. `more`: other members of `Operation`.
    """
    hints = _hints(action)
    place = "request" if method in WITH_BODY and not in_query else "query"
    described = {"reply": hints["return"], **({place: hints["asked"]} if "asked" in hints else {})}
    return Operation(method, path, summary, action=action, **{**described, **more})


@cache
def _hints(action: Action) -> dict[str, Any]:
    return get_type_hints(inspect.unwrap(action))
