"""The apps and their subscriptions: the callback that gets the events of an account."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from drumbeat.emulator.account import Account
from drumbeat.emulator.config import EmulatorConfig
from drumbeat.emulator.deliveries import Deliveries
from drumbeat.emulator.events.events import Events
from drumbeat.emulator.events.subscriber import ALL_FIELDS, Subscriber

APP_LIMIT = 1_000


@dataclass(slots=True)
class App:
    """An app of a developer: its secret signs the events of its subscriber.

    `overrides`: account → the callback that gets that account's events instead.
    """

    id: str
    secret: str
    subscriber: Subscriber | None = None
    overrides: dict[str, Subscriber] = field(default_factory=dict)

    def subscribe(
        self, url: str, fields: frozenset[str], retry_wait_s: float, verify_token: str = ""
    ) -> None:
        """Register a callback. It also gets the events that waited for the former one."""
        if self.subscriber is None:
            self.subscriber = Subscriber(url, self.secret, retry_wait_s=retry_wait_s)
        self.subscriber.url, self.subscriber.fields = url, fields
        self.subscriber.verify_token = verify_token

    def override(self, account_id: str, url: str, retry_wait_s: float, verify_token: str) -> None:
        """Set another callback for the events of one account."""
        self.overrides[account_id] = Subscriber(
            url, self.secret, retry_wait_s=retry_wait_s, verify_token=verify_token
        )

    def share_accounts(self, accounts: Iterable[Account]) -> list[Subscriber]:
        """Give each callback of the app the accounts whose events it gets; returns the callbacks."""
        subscribed = {account.id for account in accounts if self.id in account.subscribed_apps}
        for account_id, callback in self.overrides.items():
            callback.accounts = frozenset({account_id} & subscribed)
            callback.fields = self.subscriber.fields if self.subscriber else ALL_FIELDS
        if self.subscriber is None:
            return list(self.overrides.values())
        self.subscriber.accounts = frozenset(subscribed - self.overrides.keys())
        return [self.subscriber, *self.overrides.values()]


class Subscriptions:
    """The apps. `callback` is the URL of the first one. `statuses_on`: messages get statuses."""

    def __init__(
        self,
        config: EmulatorConfig,
        accounts: Mapping[str, Account],
        events: Events,
        deliveries: Deliveries,
    ) -> None:
        self.apps = {config.app_id: App(config.app_id, config.app_secret)}
        self.callback: str | None = None
        self.statuses_on = True
        self._config = config
        self._accounts = accounts
        self._events = events
        self._deliveries = deliveries

    def set_callback(self, url: str | None) -> None:
        """Subscribe `url` to every field for the first app, without verification; None unsubscribes it."""
        self.callback = url
        app = self.apps[self._config.app_id]
        if url is None:
            app.subscriber = None
        else:
            app.subscribe(url, ALL_FIELDS, self._config.event_retry_wait_s)
        self.refresh()

    def let_hear(self, account: Account, *, hears: bool) -> None:
        """Set whether the first app gets the events of an account."""
        app_id = self._config.app_id
        if hears:
            account.subscribed_apps.add(app_id)
        else:
            account.subscribed_apps.discard(app_id)
        self.refresh()

    def turn_statuses(self, *, on: bool) -> None:
        """Turn statuses on or off for messages that are accepted from now on."""
        self.statuses_on = on
        self.refresh()

    def refresh(self) -> None:
        """Update the subscribers after a change of apps, subscriptions or accounts."""
        accounts = list(self._accounts.values())
        self._events.subscribers = [
            callback for app in self.apps.values() for callback in app.share_accounts(accounts)
        ]
        # Without a subscriber no status is planned.
        self._deliveries.plan_statuses(wanted=self.statuses_on and bool(self._events.subscribers))
