"""The channel that posts a notification as signed JSON."""

import hashlib
import hmac
import time

import aiohttp
import orjson

from drumbeat.engine.core.notification import Attempt, Channel, Notification, Verdict, verdict_of_status
from drumbeat.engine.notifications.text import as_json
from drumbeat.engine.process.notification_settings import WebhookSettings
from drumbeat.engine.system_error import system_error_text

SIGNATURE_HEADER = "Drumbeat-Signature"
ID_HEADER = "Drumbeat-Notification-Id"
ANSWER_S_MAX = 10.0


def signature(body: bytes, secret: str, at_s: int) -> str:
    """Return the header's value: `t=<seconds since 1970>,v1=<hex>`. The HMAC-SHA256 covers time, dot and
    body.

    The time is that of the attempt, so that a receiver can refuse an old request that is sent again.
    """
    signed = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256)
    return f"t={at_s},v1={signed.hexdigest()}"


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
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "drumbeat",
            ID_HEADER: notification.public_id,
            SIGNATURE_HEADER: signature(body, self._secret, int(time.time())),
        }
        timeout = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
        try:
            async with (
                aiohttp.ClientSession(timeout=timeout) as session,
                session.post(self._url, data=body, headers=headers, allow_redirects=False) as response,
            ):
                status = response.status  # the body of the answer is not read
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            return Attempt(Verdict.UNREACHABLE, system_error_text(error))
        verdict = verdict_of_status(status)
        return Attempt(verdict, "" if verdict is Verdict.DELIVERED else f"HTTP {status}")
