"""A new campaign that begins with the options of another one."""

from __future__ import annotations

from aiohttp import web

from campaigns.console.api.create_request import CreateRequest
from campaigns.console.choices import write_choices
from campaigns.console.context import console_of
from campaigns.console.uploads import Upload
from campaigns.manifest.values import AUDIENCE_KEYS, NOT_CLONED
from campaigns.planning.stored import stored_options

_OF_ITS_LIST = (*AUDIENCE_KEYS, *NOT_CLONED, "name", "map", "default", "exclude")


async def choose_like(request: web.Request, upload: Upload, name: str) -> None:
    """Choose for the upload what was chosen for the campaign, but for what is of its list or its own."""
    values = (await stored_options(console_of(request).pool, name)).values
    known = CreateRequest.model_fields.keys() - set(_OF_ITS_LIST)
    write_choices(upload, **{key: value for key, value in values.items() if key in known})
