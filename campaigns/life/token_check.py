"""A test of the access token before a campaign is resumed that the service had refused."""

from __future__ import annotations

from drumbeat.campaigns.sql import statements
from drumbeat.engine.errors import AuthenticationError, DrumbeatError
from drumbeat.engine.process.settings import Settings, secret_path
from drumbeat.engine.store.database import Connection


async def waits_for_token(connection: Connection, campaign_id: int | None) -> bool:
    """Return whether the campaign, or any if the id is None, waits for a token that the service accepts."""
    return bool(await connection.fetchval(statements("campaign_control")["waits_for_token"], campaign_id))


async def check_token(settings: Settings) -> str:
    """Try the access token with one small call. Return why that was not possible, or an empty text.

    Raise AuthenticationError, with what to do, if the service refuses the token.
    """
    from drumbeat.engine.api.service import service_of  # imports aiohttp, a third of a command's start

    try:
        service, waba_id = settings.service(), settings.required("waba_id")
        async with service_of(service) as client:
            await anext(client.numbers.list(waba_id), None)
    except DrumbeatError as error:
        if error.exit_code != AuthenticationError.exit_code:
            return str(error)
        raise AuthenticationError(
            f"the service refuses the access token: {error.what}", where=error.where, remedy=_cure()
        ) from error
    return ""


def _cure() -> str:
    path = secret_path("access_token")
    if path is not None:
        return f"put a valid token into {path}, then repeat the command"
    return "restart the senders with a valid DRUMBEAT_ACCESS_TOKEN, set it here too, and repeat the command"
