"""The methods about events: what happens to recipients, for programs that do not want to poll campaigns."""

from collections.abc import Collection

from drumbeat.api.installation import Installation, reported
from drumbeat.campaigns.actor import actor
from drumbeat.campaigns.results import subscriptions as stored
from drumbeat.campaigns.results.subscriptions import NewSubscription, Subscription
from drumbeat.engine.core.recipient_event import EventKind
from drumbeat.engine.store.recipient_events import EventPage


class Events(Installation):
    """The methods about events of recipients."""

    __slots__ = ()

    @reported
    async def subscribe(
        self,
        name: str,
        *,
        url: str | None = None,
        secret: str | None = None,
        campaign: str | None = None,
        kinds: Collection[EventKind] = (),
    ) -> NewSubscription:
        """Subscribe a program to what happens from now on, as `subscriptions add` does. Without a url, it
        fetches its events with `events`.
        """
        return await stored.add_subscription(
            self.pool, name, url=url, secret=secret, campaign=campaign, kinds=kinds, actor=actor()
        )

    @reported
    async def subscriptions(self) -> list[Subscription]:
        """Return all subscriptions, as `subscriptions list` does."""
        return await stored.list_subscriptions(self.pool)

    @reported
    async def subscription(self, name: str) -> Subscription:
        """Return one subscription, as `subscriptions show` does."""
        return await stored.find_subscription(self.pool, name)

    @reported
    async def unsubscribe(self, name: str) -> None:
        """Remove a subscription, as `subscriptions remove` does."""
        await stored.remove_subscription(self.pool, name, actor=actor())

    @reported
    async def events(
        self,
        after: int = 0,
        *,
        limit: int = 100,
        campaign: str | None = None,
        kinds: Collection[EventKind] = (),
    ) -> EventPage:
        """Return up to `limit` events after a number, in order. Go on after `next` of the page."""
        return await stored.read_events(self.pool, after, limit, campaign=campaign, kinds=kinds)
