"""A webhook is signed JSON without a recipient's data; its answer decides what follows."""

import hashlib
import hmac
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pydantic import SecretStr

from drumbeat.engine.core.notification import Notification, NotificationEvent, Verdict
from drumbeat.engine.notifications.webhook import Webhook
from drumbeat.engine.process.notification_settings import WebhookSettings
from tests.docs.markdown import python_blocks
from tests.kit.ports import free_port
from tests.notifications.sinks import Hook, hook

ROOT = Path(__file__).parents[2]
SECRET = "a secret of ours"
PAUSED = Notification(
    public_id="5c0ffee0-0000-4000-8000-000000000001",
    event=NotificationEvent.CAMPAIGN_PAUSED,
    at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    reason="no \x1b[31mtoken for +5511987654321",
    reason_code="authentication_failed",
    campaign="spring sale",
    state="paused",
    recipients=10,
    counts={"pending": 9, "failed": 1},
    on_unknown="hold",
)


def channel(url: str, secret: str = SECRET) -> Webhook:
    return Webhook(WebhookSettings(SecretStr(url), SecretStr(secret)))


async def test_what_is_posted() -> None:
    async with hook() as sink:
        assert (await channel(sink.url).tell([PAUSED])).verdict is Verdict.DELIVERED
    (posted,) = sink.posted
    assert posted.json == {
        "schema": 1,
        "id": PAUSED.public_id,
        "event": "campaign_paused",
        "at": "2026-01-02T03:04:05Z",
        "campaign": "spring sale",
        "external_id": None,
        "number": None,
        "state": "paused",
        "reason": "no [31mtoken for ***4321",
        "reason_code": "authentication_failed",
        "recipients": 10,
        "counts": {"pending": 9, "failed": 1},
        "needs_person": True,
        "commands": ["drumbeat campaign report 'spring sale'", "drumbeat campaign resume 'spring sale'"],
    }
    assert posted.headers["Content-Type"] == "application/json"
    assert posted.headers["Drumbeat-Notification-Id"] == PAUSED.public_id


async def test_the_signature_covers_the_time_and_the_bytes() -> None:
    async with hook() as sink:
        await channel(sink.url).tell([PAUSED])
    (posted,) = sink.posted
    match = re.fullmatch(r"t=(\d+),v1=([0-9a-f]{64})", posted.headers["Drumbeat-Signature"])
    assert match is not None
    signed = match[1].encode() + b"." + posted.body
    assert match[2] == hmac.new(SECRET.encode(), signed, hashlib.sha256).hexdigest()
    assert abs(int(match[1]) - datetime.now(UTC).timestamp()) < 300


def documented_verify() -> object:
    """The function that the documentation gives to receivers."""
    (code,) = python_blocks(ROOT / "docs/operate/notifications.md")
    names: dict[str, object] = {}
    exec(code, names)
    return names["is_genuine"]


async def test_the_documented_check_takes_what_is_ours_and_refuses_all_else() -> None:
    is_genuine = documented_verify()
    assert callable(is_genuine)
    async with hook() as sink:
        await channel(sink.url).tell([PAUSED])
    (posted,) = sink.posted
    header = posted.headers["Drumbeat-Signature"]
    sent_s = int(header[2 : header.index(",")])
    assert is_genuine(posted.body, header, SECRET, sent_s + 1)
    assert not is_genuine(posted.body, header, "another secret", sent_s + 1)
    assert not is_genuine(posted.body + b" ", header, SECRET, sent_s + 1)
    assert not is_genuine(posted.body, header, SECRET, sent_s + 301), "a replay"
    later = header.replace(f"t={sent_s}", f"t={sent_s + 300}")
    assert not is_genuine(posted.body, later, SECRET, sent_s + 301), "a replay with another time"
    assert not is_genuine(posted.body, "", SECRET, sent_s + 1)
    assert not is_genuine(posted.body, "nonsense", SECRET, sent_s + 1)


@pytest.mark.parametrize(
    ("status", "verdict"),
    [(204, Verdict.DELIVERED), (403, Verdict.UNAUTHORISED), (404, Verdict.REFUSED), (410, Verdict.GONE), (503, Verdict.UNREACHABLE)],
)  # fmt: skip
async def test_an_answer_is_told(status: int, verdict: Verdict) -> None:
    async with hook(status=status) as sink:
        attempt = await channel(sink.url).tell([PAUSED])
    assert attempt.verdict is verdict
    assert attempt.problem == ("" if status == 204 else f"HTTP {status}")


async def test_a_redirect_is_not_followed() -> None:
    async with hook() as elsewhere, hook(status=307, location=elsewhere.url) as sink:
        attempt = await channel(sink.url).tell([PAUSED])
    assert (attempt.verdict, attempt.problem) == (Verdict.REFUSED, "HTTP 307")
    assert elsewhere.posted == []


async def test_nobody_listens() -> None:
    attempt = await channel(Hook(free_port()).url).tell([PAUSED])
    assert (attempt.verdict, attempt.problem) == (Verdict.UNREACHABLE, "Connection refused")
