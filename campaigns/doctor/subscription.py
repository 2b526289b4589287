"""The checks of the way of events: whether they are sent to our callback, and whether it takes them."""

from __future__ import annotations

import secrets as random_tokens
from dataclasses import dataclass

import aiohttp
import orjson

from drumbeat.campaigns.doctor.finding import Finding, ok, warn
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.api.service import Service
from drumbeat.engine.errors import DrumbeatError
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.system_error import system_error_text
from drumbeat.engine.webhooks.signature import sign

# What each field is for. Without it, that is not known in time, or not at all.
FIELDS = {
    "messages": "statuses, replies and opt-outs",
    "message_template_status_update": "templates that are paused or rejected",
    "phone_number_quality_update": "numbers whose limit or quality changes",
    "account_update": "an account that is restricted",
}
ANSWER_S_MAX = 10.0
_SUBJECT, _CALLBACK = "subscription", "callback"
_REMEDY = "run `drumbeat webhooks subscribe`"


@dataclass(frozen=True, slots=True)
class Callback:
    """The address to which the service posts the events of the account. `fields` None: they are not known."""

    url: str
    fields: frozenset[str] | None


async def check_subscription(client: Service, settings: Settings, waba_id: str) -> list[Finding]:
    """Check that an app gets the events of the account, those that are used, and that its callback takes
    them. It posts an event that changes nothing.
    """
    apps = await client.subscriptions.apps(waba_id)
    if not apps:
        nothing = f"no app gets the events of account {waba_id}: no status, reply or opt-out arrives"
        return [warn(_SUBJECT, nothing, _REMEDY)]
    callbacks = [
        callback
        for app in apps
        for callback in await _callbacks(client, app.app_id, app.override_callback_uri)
    ]
    found = [ok(_SUBJECT, f"{pluralise(len(apps), 'app gets', 'apps get')} the events of account {waba_id}")]
    found += [_missing(callback.fields) for callback in callbacks if _lacking(callback.fields)]
    return found + [finding for callback in callbacks for finding in await _try(callback.url, settings)]


async def _callbacks(client: Service, app_id: str, override: str) -> list[Callback]:
    """Return where the app's events go. The token of a business may not read the app's own subscription."""
    try:
        subscriptions = await client.subscriptions.get(app_id) if app_id else []
    except DrumbeatError:
        return [Callback(override, None)] if override else []
    listed = [Callback(override or each.callback_url, frozenset(each.fields)) for each in subscriptions]
    return listed or ([Callback(override, None)] if override else [])


def _lacking(fields: frozenset[str] | None) -> dict[str, str]:
    return {} if fields is None else {name: use for name, use in FIELDS.items() if name not in fields}


def _missing(fields: frozenset[str] | None) -> Finding:
    lacking = _lacking(fields)
    uses = "; ".join(f"{name} ({use})" for name, use in lacking.items())
    return warn(_SUBJECT, f"the app is not subscribed to {uses}", "subscribe it at the page of the app")


async def _try(url: str, settings: Settings) -> list[Finding]:
    """Shake hands with the callback as the service does, and post a signed event of no account."""
    timeout = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
    try:
        async with aiohttp.ClientSession(timeout=timeout) as session:
            return [await _shake_hands(session, url, settings), await _post(session, url, settings)]
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        found = f"{url} does not answer from here: {system_error_text(error)}"
        return [
            warn(
                _CALLBACK, found, "see whether the receiver and the proxy run, and whether the name resolves"
            )
        ]


async def _shake_hands(session: aiohttp.ClientSession, url: str, settings: Settings) -> Finding:
    token, challenge = settings.verify_token, random_tokens.token_hex(8)
    if token is None:
        return warn(
            _CALLBACK, f"{url} was not tried: the verify token is not set", "set DRUMBEAT_VERIFY_TOKEN"
        )
    query = {
        "hub.mode": "subscribe",
        "hub.verify_token": token.get_secret_value(),
        "hub.challenge": challenge,
    }
    async with session.get(url, params=query, allow_redirects=False) as response:
        answer = (await response.content.read(1_024)).decode("utf-8", "replace")
    if response.status == 200 and answer == challenge:
        return ok(_CALLBACK, f"{url} answers its handshake")
    return warn(_CALLBACK, f"{url} answers its handshake with {response.status}", _why(response.status))


async def _post(session: aiohttp.ClientSession, url: str, settings: Settings) -> Finding:
    if settings.app_secret is None:
        return warn(
            _CALLBACK, f"no event was posted to {url}: the app secret is not set", "set DRUMBEAT_APP_SECRET"
        )
    secret = settings.app_secret.get_secret_value().split("\n")[0].encode()
    change = {"field": "account_alerts", "value": {"from": "drumbeat doctor"}}
    entry = {"id": "0", "changes": [change]}
    body = orjson.dumps({"object": f"{settings.product}_business_account", "entry": [entry]})
    headers = {"Content-Type": "application/json", "X-Hub-Signature-256": sign(body, secret)}
    async with session.post(url, data=body, headers=headers, allow_redirects=False) as response:
        status = response.status
    if status == 200:
        return ok(_CALLBACK, f"{url} takes a signed event")
    return warn(_CALLBACK, f"{url} answers a signed event with {status}", _why(status))


def _why(status: int) -> str:
    if 300 <= status < 400:
        return "register the address to which it redirects: the service follows none"
    return {
        403: "its receiver has another app secret or verify token: give it those of the settings",
        404: "the path is another: see what `webhooks serve` prints, and its option --path",
        503: "its database is away: see the log of the receiver",
    }.get(status, "see the log of the receiver and of the proxy before it")
