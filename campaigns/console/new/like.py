"""The start of a new campaign with the options of another one."""

from __future__ import annotations

from typing import Any

from aiohttp import web

from drumbeat.campaigns.console.new.choices import write_choices
from drumbeat.campaigns.console.new.create_request import CreateRequest
from drumbeat.campaigns.console.web.context import console_of
from drumbeat.campaigns.console.web.uploads import Upload
from drumbeat.campaigns.options.audience_options import pairs
from drumbeat.campaigns.options.stored import stored_options
from drumbeat.campaigns.options.values import AUDIENCE_KEYS, NOT_CLONED

_ITS_OWN = {*NOT_CLONED, *AUDIENCE_KEYS, "name"}


async def choose_like(request: web.Request, upload: Upload, name: str) -> None:
    """Copy the choices of the campaign to the upload, except for those that are the campaign's own."""
    values = (await stored_options(console_of(request).pool, name)).values
    known = CreateRequest.model_fields.keys() - _ITS_OWN
    chosen = {key: value for key, value in values.items() if key in known}
    named: dict[str, Any] = {
        key: pairs(key, chosen[key]) for key in ("map", "default", "language_map") if key in chosen
    }
    write_choices(upload, **(chosen | named))
