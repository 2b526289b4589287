"""Apps and their subscriptions: which callback gets the events of which account."""

from collections.abc import Mapping
from dataclasses import dataclass

from emulator.account import Account
from emulator.config import EmulatorConfig
from emulator.events.events import Events
from emulator.events.subscriber import ALL_FIELDS, Subscriber
from emulator.schedule import StatusSchedule

APP_LIMIT = 1_000


@dataclass(slots=True)
class App:
    """A developer's app: its secret signs the events of its subscriber."""

    id: str
    secret: str
    subscriber: Subscriber | None = None

    def subscribe(
        self, url: str, fields: frozenset[str], retry_wait_s: float, verify_token: str = ""
    ) -> None:
        """Register a callback. It also gets the events that waited for the former one."""
        if self.subscriber is None:
            self.subscriber = Subscriber(url, self.secret, retry_wait_s=retry_wait_s)
        self.subscriber.url, self.subscriber.fields = url, fields
        self.subscriber.verify_token = verify_token


class Subscriptions:
    """The apps. `callback` is the URL of the first one, `statuses_on` whether messages get statuses."""

    def __init__(
        self,
        config: EmulatorConfig,
        accounts: Mapping[str, Account],
        events: Events,
        schedule: StatusSchedule,
    ) -> None:
        self.apps = {config.app_id: App(config.app_id, config.app_secret)}
        self.callback: str | None = None
        self.statuses_on = True
        self._config = config
        self._accounts = accounts
        self._events = events
        self._schedule = schedule

    def set_callback(self, url: str | None) -> None:
        """Subscribe `url` to every field for the first app, without verification; None unsubscribes it."""
        self.callback = url
        app = self.apps[self._config.app_id]
        if url is None:
            app.subscriber = None
        else:
            app.subscribe(url, ALL_FIELDS, self._config.event_retry_wait_s)
        self.refresh()

    def turn_statuses(self, *, on: bool) -> None:
        """Whether messages accepted from now on get statuses."""
        self.statuses_on = on
        self.refresh()

    def refresh(self) -> None:
        """To be called after a change of apps, subscriptions or accounts."""
        self._events.subscribers = [
            app.subscriber for app in self.apps.values() if app.subscriber is not None
        ]
        # Without a subscriber no status is planned.
        self._schedule.wanted = self.statuses_on and bool(self._events.subscribers)
        for app in self.apps.values():
            if app.subscriber is not None:
                subscribed = (a.id for a in self._accounts.values() if app.id in a.subscribed_apps)
                app.subscriber.accounts = frozenset(subscribed)
