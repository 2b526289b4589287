"""One message to one person, for programs: stored and released in one transaction, so that a worker sends it.

The campaign that records it is named after the caller and the Idempotency-Key. So a repeat finds it, also
after a kill, and the message is sent once.
"""

from __future__ import annotations

import hashlib

from aiohttp import web

from drumbeat.campaigns.changing.send_message import message_spec, store_message
from drumbeat.campaigns.console.new.shapes import AcceptedMessage, MessageRequest
from drumbeat.campaigns.console.web.access import Caller
from drumbeat.campaigns.console.web.context import Console, caller_of, console_of
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.replying import KEY_CHARACTERS_MAX, KEY_HEADER, body_of, reply
from drumbeat.engine.errors import ConfigurationError


async def send(request: web.Request) -> web.Response:
    """Store the message and hand it to the workers, ahead of campaigns. A repeat sends nothing."""
    asked, caller = await body_of(request, MessageRequest), caller_of(request)
    key = request.headers.get(KEY_HEADER, "")
    if not key or len(key) > KEY_CHARACTERS_MAX:
        raise Refused(400, "key_missing")
    return reply(await _accept(console_of(request), caller, _name_of(caller, key), asked), 201)


def _name_of(caller: Caller, key: str) -> str:
    asked = hashlib.sha256(f"{caller.name}\n{key}".encode()).hexdigest()
    return f"message-{asked[:24]}"


async def _accept(console: Console, caller: Caller, name: str, asked: MessageRequest) -> AcceptedMessage:
    if console.own.approval:
        raise ConfigurationError(
            "a start needs two people here, so no program may send single messages",
            remedy="create a campaign, or use `drumbeat message send` where the workers run",
        )
    spec = message_spec(name, **asked.model_dump(exclude={"to"}))
    async with console.pool.acquire() as connection:
        change = await store_message(
            connection, spec, asked.to, disk=console.settings.disk(), start_by=caller.name
        )
    assert change is not None  # it was asked to start
    return {"name": name, "state": change.state, "nobody_sends": change.nobody_sends}
