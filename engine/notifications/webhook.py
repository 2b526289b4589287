"""The channel that posts a notification as signed JSON."""

import orjson

from drumbeat.engine.core.notification import Attempt, Channel, Notification
from drumbeat.engine.notifications.signed_post import open_session, post_signed
from drumbeat.engine.notifications.text import as_json
from drumbeat.engine.process.notification_settings import WebhookSettings

ID_HEADER = "Drumbeat-Notification-Id"


class Webhook:
    """A channel that sends each notification in a request of its own, because programs read it."""

    channel = Channel.WEBHOOK
    combines = False

    def __init__(self, settings: WebhookSettings) -> None:
        self._url = settings.url.get_secret_value()
        self._secret = settings.secret.get_secret_value()

    async def tell(self, told: list[Notification]) -> Attempt:
        (notification,) = told
        body = orjson.dumps(as_json(notification), option=orjson.OPT_UTC_Z)
        headers = {ID_HEADER: notification.public_id}
        async with open_session() as session:
            return await post_signed(session, self._url, self._secret, body, headers)
