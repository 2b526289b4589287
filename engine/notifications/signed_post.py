"""A signed request to a program: JSON with a header that proves who sent it, and when."""

import hashlib
import hmac
import time
from collections.abc import Mapping

import aiohttp

from drumbeat.engine.core.notification import Attempt, Verdict, verdict_of_status
from drumbeat.engine.system_error import system_error_text

SIGNATURE_HEADER = "Drumbeat-Signature"
ANSWER_S_MAX = 10.0


def signature(body: bytes, secret: str, at_s: int) -> str:
    """Return the header's value: `t=<seconds since 1970>,v1=<hex>`. The HMAC-SHA256 covers time, dot and
    body.

    The time is that of the attempt, so that a receiver can refuse an old request that is sent again.
    """
    signed = hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256)
    return f"t={at_s},v1={signed.hexdigest()}"


def open_session() -> aiohttp.ClientSession:
    """Return a session for signed requests, whose answers are waited for ANSWER_S_MAX."""
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=ANSWER_S_MAX))


async def post_signed(
    session: aiohttp.ClientSession, url: str, secret: str, body: bytes, headers: Mapping[str, str]
) -> Attempt:
    """Post a body once and return the verdict on the answer's status. The answer is not read, and no redirect
    is followed, so that the receiver cannot lead the request to another host.
    """
    whole = {
        "Content-Type": "application/json",
        "User-Agent": "drumbeat",
        SIGNATURE_HEADER: signature(body, secret, int(time.time())),
        **headers,
    }
    try:
        async with session.post(url, data=body, headers=whole, allow_redirects=False) as response:
            status = response.status
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return Attempt(Verdict.UNREACHABLE, system_error_text(error))
    verdict = verdict_of_status(status)
    return Attempt(verdict, "" if verdict is Verdict.DELIVERED else f"HTTP {status}")
