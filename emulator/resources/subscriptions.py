"""The webhook subscriptions: an app has a callback and fields, an account has the apps that get its
events.
"""

import secrets
from collections.abc import Mapping
from typing import Any

import aiohttp

from drumbeat.emulator.account import Account
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.events.subscriber import ALL_FIELDS
from drumbeat.emulator.events.subscriptions import App
from drumbeat.emulator.identity import MANAGEMENT
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.resources.access import account_of, token_of
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply, parse_object

VERIFY_TIMEOUT_S = 10.0
# Longer than any challenge.
CHALLENGE_LIMIT_BYTES = 4096


class SubscriptionEndpoints:
    """The endpoints `/{app}/subscriptions` and `/{account}/subscribed_apps` (shapes are open points)."""

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    async def subscribe(self, request: Request) -> Reply:
        """Subscribe a callback: `object`, `callback_url`, `verify_token`, `fields`, in the body or the query.
        The callback is verified at once.
        """
        app = self._app(request)
        content = {**request.query, **(parse_object(request.body) if request.body else {})}
        self._check_object(content)
        url, verify_token = _callback(content, "callback_url")
        fields = _fields(content.get("fields"))
        await _verify(url, verify_token)
        app.subscribe(url, fields, self._service.config.event_retry_wait_s, verify_token)
        self._service.subscriptions.refresh()
        return json_reply({"success": True})

    def list(self, request: Request) -> Reply:
        """Show the app's subscription."""
        subscriber = self._app(request).subscriber
        data: list[dict[str, Any]] = []
        if subscriber is not None:
            fields = [
                {"name": name, "version": self._service.config.version} for name in sorted(subscriber.fields)
            ]
            data = [
                {"object": self._object, "callback_url": subscriber.url, "active": True, "fields": fields}
            ]
        return json_reply({"data": data})

    def unsubscribe(self, request: Request) -> Reply:
        """Remove the callback of this app."""
        app = self._app(request)
        self._check_object(request.query)
        app.subscriber = None
        self._service.subscriptions.refresh()
        return json_reply({"success": True})

    async def add_app(self, request: Request) -> Reply:
        """Let the token's app get the events of the account, at its own callback or at
        `override_callback_uri`, which is verified at once with `verify_token`.
        """
        account, app_id = self._pair(request)
        content = {**request.query, **(parse_object(request.body) if request.body else {})}
        app = self._service.subscriptions.apps.get(app_id)
        if app is None:
            raise Refused(33, f"app {app_id} does not exist")
        if content.get("override_callback_uri") is not None:
            url, verify_token = _callback(content, "override_callback_uri")
            await _verify(url, verify_token)
            app.override(account.id, url, self._service.config.event_retry_wait_s, verify_token)
        else:
            app.overrides.pop(account.id, None)
        account.subscribed_apps.add(app_id)
        self._service.subscriptions.refresh()
        return json_reply({"success": True})

    def list_apps(self, request: Request) -> Reply:
        """List the apps that get the events of the account."""
        account, _ = self._pair(request)
        key = f"{self._service.config.product}_business_api_data"
        data = [
            {key: {"id": app_id}, **self._override(app_id, account)}
            for app_id in sorted(account.subscribed_apps)
        ]
        return json_reply({"data": data})

    def _override(self, app_id: str, account: Account) -> dict[str, str]:
        app = self._service.subscriptions.apps.get(app_id)
        callback = app.overrides.get(account.id) if app else None
        return {"override_callback_uri": callback.url} if callback else {}

    def remove_app(self, request: Request) -> Reply:
        """Stop sending the events of the account to the token's app."""
        account, app_id = self._pair(request)
        account.subscribed_apps.discard(app_id)
        if (app := self._service.subscriptions.apps.get(app_id)) is not None:
            app.overrides.pop(account.id, None)
        self._service.subscriptions.refresh()
        return json_reply({"success": True})

    @property
    def _object(self) -> str:
        return f"{self._service.config.product}_business_account"

    def _check_object(self, content: Mapping[str, Any]) -> None:
        if (word := content.get("object", self._object)) != self._object:
            raise Refused(100, f"object is {self._object}, not {word!r}")

    def _app(self, request: Request) -> App:
        token = token_of(self._service, request, MANAGEMENT)
        app = self._service.subscriptions.apps.get(request.variables["id"])
        if app is None or token.app_id != app.id:
            raise Refused(33, f"app {request.variables['id']} does not exist, or the token is another app's")
        return app

    def _pair(self, request: Request) -> tuple[Account, str]:
        account = account_of(self._service, request)
        return account, token_of(self._service, request, MANAGEMENT).app_id


def _callback(content: dict[str, Any], name: str) -> tuple[str, str]:
    """Return the address in a member, and the `verify_token` beside it."""
    url, verify_token = content.get(name), content.get("verify_token")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise Refused(100, f"{name} is an address")
    if not isinstance(verify_token, str) or not verify_token:
        raise Refused(100, "verify_token is required")
    return url, verify_token


def _fields(value: Any) -> frozenset[str]:
    """Return the names in an array or separated by commas, or every field if none is given."""
    if value is None:
        return ALL_FIELDS
    names = value.split(",") if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not set(map(str, names)) <= ALL_FIELDS:
        raise Refused(100, f"fields are some of {', '.join(sorted(ALL_FIELDS))}")
    return frozenset(names)


async def _verify(url: str, verify_token: str) -> None:
    """Check that the callback answers 200 with the challenge. Otherwise it is not registered."""
    challenge = str(secrets.randbelow(10**10))
    query = {"hub.mode": "subscribe", "hub.verify_token": verify_token, "hub.challenge": challenge}
    timeout = aiohttp.ClientTimeout(total=VERIFY_TIMEOUT_S)
    try:
        async with (
            aiohttp.ClientSession(timeout=timeout) as session,
            session.get(url, params=query, allow_redirects=False) as reply,
        ):
            answer = await reply.content.read(CHALLENGE_LIMIT_BYTES)
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise Refused(100, f"the callback could not be reached: {type(error).__name__}") from None
    if reply.status != 200 or answer.decode("utf-8", "replace") != challenge:
        raise Refused(100, f"the callback did not answer with the challenge (status {reply.status})")
