"""The subscriptions to events: the callback of an app, and the apps that get the events of an account."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.engine.api.caller import Caller
from drumbeat.engine.api.fields import object_of, text_of
from drumbeat.engine.api.paging import page_entries


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription: the callback to which the events of these fields are posted."""

    callback_url: str
    fields: tuple[str, ...]
    active: bool


@dataclass(frozen=True, slots=True)
class SubscribedApp:
    """An app that gets the events of an account, perhaps at a callback for this account alone."""

    app_id: str
    override_callback_uri: str


class Subscriptions:
    """The rows `/{app}/subscriptions` and `/{account}/subscribed_apps`. A callback is verified at once."""

    def __init__(self, caller: Caller, product: str) -> None:
        self._caller = caller
        self._product = product

    async def subscribe(
        self, app_id: str, callback_url: str, verify_token: str, fields: Sequence[str]
    ) -> None:
        """Subscribe the app: the service posts the events of these fields to the callback."""
        content = {
            "object": f"{self._product}_business_account",
            "callback_url": callback_url,
            "verify_token": verify_token,
            "fields": ",".join(fields),
        }
        await self._caller.manage("POST", f"{app_id}/subscriptions", content=content)

    async def get(self, app_id: str) -> list[Subscription]:
        """Return the subscriptions of an app."""
        path = f"{app_id}/subscriptions"
        listed = page_entries(await self._caller.manage("GET", path), path)
        return [_subscription(entry) for entry in listed]

    async def unsubscribe(self, app_id: str) -> None:
        """Remove the callback of an app."""
        await self._caller.manage("DELETE", f"{app_id}/subscriptions")

    async def add_app(
        self, waba_id: str, *, override_callback_uri: str | None = None, verify_token: str | None = None
    ) -> None:
        """Give the token's app the events of the account. A callback named here is for this account alone."""
        override = {"override_callback_uri": override_callback_uri, "verify_token": verify_token}
        content = None if override_callback_uri is None else override
        await self._caller.manage("POST", f"{waba_id}/subscribed_apps", content=content)

    async def apps(self, waba_id: str) -> list[SubscribedApp]:
        """Return the apps that get the events of the account."""
        path = f"{waba_id}/subscribed_apps"
        listed = page_entries(await self._caller.manage("GET", path), path)
        return [self._app(entry) for entry in listed]

    async def remove_app(self, waba_id: str) -> None:
        """Stop giving the token's app the events of the account."""
        await self._caller.manage("DELETE", f"{waba_id}/subscribed_apps")

    def _app(self, entry: Mapping[str, Any]) -> SubscribedApp:
        app = object_of(entry, f"{self._product}_business_api_data")
        return SubscribedApp(text_of(app, "id"), text_of(entry, "override_callback_uri"))


def _subscription(entry: Mapping[str, Any]) -> Subscription:
    fields = entry.get("fields")
    listed = fields if isinstance(fields, list) else []
    names = [text_of(each, "name") if isinstance(each, dict) else str(each) for each in listed]
    return Subscription(text_of(entry, "callback_url"), tuple(names), entry.get("active") is not False)
