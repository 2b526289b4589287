"""The client: one installation of Drumbeat, as an application uses it."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict, Unpack

from pydantic import SecretStr

from drumbeat.api.account import Account
from drumbeat.api.events import Events
from drumbeat.api.options import unknown_option
from drumbeat.api.planning import Planning
from drumbeat.api.results import Results
from drumbeat.api.sending import Sending
from drumbeat.campaigns.database_errors import database_blamed
from drumbeat.engine.prepare_database import prepare_database
from drumbeat.engine.process.event_log import in_an_application
from drumbeat.engine.process.settings import SECRETS, Settings, load_settings
from drumbeat.engine.process.telemetry import mask_secrets
from drumbeat.engine.store.database import open_pool


class SettingsOptions(TypedDict, total=False):
    """The settings that a program may give; the page of settings describes each."""

    home: str | Path
    database_url: str | SecretStr
    audience_database_url: str | SecretStr
    base_url: str
    api_version: str
    access_token: str | SecretStr
    waba_id: str
    app_secret: str | SecretStr
    verify_token: str | SecretStr
    product: str
    proxy_url: str | SecretStr
    tag: bool
    pair_rate_per_s: float
    pair_burst: int
    quota_scope: str
    silence_s: float
    least_free_mib: int
    notify_url: str
    notify_secret: str | SecretStr
    notify_mail_to: str
    notify_mail_from: str
    smtp_url: str | SecretStr
    prices: str | Path


class Drumbeat(Planning, Sending, Results, Events, Account):
    """The methods of one installation, from `open_drumbeat`. All may be called at the same time.

    A NAME may be the external id. What cannot be done raises a `DrumbeatError`.
    """

    __slots__ = ()


@asynccontextmanager
async def open_drumbeat(**settings: Unpack[SettingsOptions]) -> AsyncIterator[Drumbeat]:
    """Give the installation that `settings` name. Without them, the settings of the environment count, and
    then those of drumbeat.toml.

    This starts the embedded Postgres if no database is named, and brings the database to this version.
    """
    loaded = _loaded(settings)
    mask_secrets(getattr(loaded, name) for name in SECRETS)
    with in_an_application():
        async with _opened(loaded) as drumbeat:
            yield drumbeat


@asynccontextmanager
async def _opened(loaded: Settings) -> AsyncIterator[Drumbeat]:
    given = loaded.database_url
    location = str(loaded.home / "postgres") if given is None else given.get_secret_value()
    with database_blamed(location):
        url = await asyncio.to_thread(prepare_database, loaded)
        pool_of = open_pool(url)
        pool = await pool_of.__aenter__()
    try:
        yield Drumbeat(loaded, url, pool)
    finally:
        await pool_of.__aexit__(None, None, None)


def _loaded(settings: Mapping[str, Any]) -> Settings:
    for name in settings:
        if name not in Settings.model_fields:
            raise unknown_option(name, Settings.model_fields)
    return load_settings(**settings)
