"""The channels that are set up, and a test message over each of them."""

import uuid
from datetime import UTC, datetime
from typing import Protocol

from drumbeat.engine.core.notification import Attempt, Channel, Notification, NotificationEvent
from drumbeat.engine.notifications.webhook import Webhook
from drumbeat.engine.process.notification_settings import NotificationSettings


class TellingChannel(Protocol):
    """A way to notify people. `combines`: it delivers several notifications of one cause at once."""

    @property
    def channel(self) -> Channel: ...
    @property
    def combines(self) -> bool: ...
    async def tell(self, told: list[Notification]) -> Attempt:
        """Make one attempt to deliver. It ends within a minute, and raises nothing if a receiver fails."""


def open_channels(settings: NotificationSettings) -> list[TellingChannel]:
    """Return the channels that are set up."""
    channels: list[TellingChannel] = []
    if settings.webhook is not None:
        channels.append(Webhook(settings.webhook))
    if settings.mail is not None:
        from drumbeat.engine.notifications.mail import (
            Mail,  # a run that mails nothing need not import the client
        )

        channels.append(Mail(settings.mail))
    return channels


async def tell_test(channel: TellingChannel) -> Attempt:
    """Send a test message now."""
    now = datetime.now(UTC).replace(microsecond=0)
    return await channel.tell([Notification(str(uuid.uuid4()), NotificationEvent.TEST, now)])
