"""A campaign of 3,000 while every kind of event arrives in random order, killed three times."""

from __future__ import annotations

import random
import signal
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from typing import Any

import orjson
import pytest

from drumbeat.engine.webhooks.signature import sign
from tests.acceptance.conftest import Scene
from tests.cli.processes import ACCOUNT, SECRET, until

PEOPLE, STOPPING, KILLS = 3_000, 400, 3
FIRST = 5_511_980_000_000
STRANGER = 5_511_970_000_000
# A claim that is committed may still be sent: it is valid for 2 s, and half a second is the way.
CLAIMED_S = 2.5
NUMBER = "1"


def message(row: int, content: dict[str, Any], sender: str = "") -> dict[str, Any]:
    given = {"id": f"wamid.in.{row}.{len(content)}", "from": sender or str(FIRST + row)}
    return {**given, "timestamp": str(int(time.time())), **content}


def text(body: str) -> dict[str, Any]:
    return {"type": "text", "text": {"body": body}}


def value_of(**parts: Any) -> dict[str, Any]:
    return {"messaging_product": "chat", "metadata": {"phone_number_id": NUMBER}, **parts}


def by_message(content: dict[str, Any], spelled: Callable[[int], str] = str) -> Callable[[int], list[Any]]:
    return lambda row: [("messages", value_of(messages=[message(row, content, spelled(FIRST + row))]))]


def preference(row: int) -> list[Any]:
    part = {
        "wa_id": str(FIRST + row),
        "category": "marketing_messages",
        "value": "stop",
        "timestamp": "1790000000",
    }
    return [("user_preferences", value_of(user_preferences=[part]))]


def refused(row: int) -> list[Any]:
    """A status of a message of another campaign, long gone."""
    error = {"code": 131050, "title": "opted out"}
    failed = {"id": f"wamid.gone.{row}", "status": "failed", "timestamp": "1790000000", "errors": [error]}
    return [("messages", value_of(statuses=[{**failed, "recipient_id": f"+{FIRST + row}"}]))]


def changed_number(row: int) -> list[Any]:
    """Somebody who said stop has the number of this row now."""
    former = str(STRANGER + row)
    system = {
        "type": "user_changed_number",
        "body": f"changed from {former} to {FIRST + row}",
        "new_wa_id": str(FIRST + row),
    }
    parts = [message(row, text("stop"), former), message(row, {"type": "system", "system": system}, former)]
    random.Random(row).shuffle(parts)
    return [("messages", value_of(messages=[part])) for part in parts]


WAYS: tuple[Callable[[int], list[Any]], ...] = (
    by_message(text("STOP")),
    by_message(text("Parar!"), lambda phone: f"+{phone}"),
    by_message(text("stop"), lambda phone: f"+{str(phone)[:2]} {str(phone)[2:4]} {str(phone)[4:]}"),
    by_message(text("Stop"), lambda phone: f"{str(phone)[:4]}{str(phone)[5:]}"),  # without the 9 of Brazil
    by_message({"type": "button", "button": {"payload": "STOP", "text": "No more"}}),
    by_message({"type": "interactive", "interactive": {"button_reply": {"id": "x", "title": "Stop"}}}),
    by_message({"type": "image", "image": {"id": "7", "caption": "stop"}}),
    by_message({"type": "edit", "edit": {"message": text("STOP")}}),
    preference,
    refused,
    changed_number,
)
NOISE: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("999", "message_template_status_update", {"event": "PAUSED", "message_template_name": "order_shipped",
                                               "message_template_language": "pt_BR"}),
    ("999", "account_update", {"event": "DISABLED_UPDATE"}),
    (ACCOUNT, "message_template_status_update", {"event": "FLAGGED", "message_template_name": "order_shipped",
                                                 "message_template_language": "pt_BR"}),
    (ACCOUNT, "message_template_status_update", {"event": "A_NEW_WORD", "message_template_name": "order_shipped",
                                                 "message_template_language": "pt_BR"}),
    (ACCOUNT, "account_alerts", {"alert": "something"}),
    (ACCOUNT, "a_new_field", {"x": [1, None, {}]}),
    (ACCOUNT, "messages", value_of(statuses=[5, {"id": "w", "status": "warmed"}, {"status": "sent"}])),
    (ACCOUNT, "messages", value_of(messages=[{"type": "text"}, "x", {"id": "wamid.odd", "from": "9" * 18}])),
    (ACCOUNT, "messages", value_of(messages=[message(1, text("hello\x00"), "a-user-id")])),
)  # fmt: skip


class Post:
    """Posts signed bodies, and notes when the answer 200 came to each person's stop, by the machine's monotonic
    clock, which the emulator's ledger has too.
    """

    def __init__(self, callback: str) -> None:
        self._callback = callback
        self.stored_s: dict[int, float] = {}

    def body(self, account: str, changes: list[Any]) -> None:
        listed = [{"field": field, "value": value} for field, value in changes]
        entry = {"id": account, "changes": listed}
        body = orjson.dumps({"object": "chat_business_account", "entry": [entry]})
        signature = sign(body, SECRET.encode())
        request = urllib.request.Request(self._callback, body, {"X-Hub-Signature-256": signature})
        with urllib.request.urlopen(request, timeout=30) as reply:
            assert reply.status == 200

    def all(self, rows: list[int], seed: int) -> None:
        chance = random.Random(seed)
        for row in rows:
            changes = WAYS[row % len(WAYS)](row)
            account, field, value = chance.choice(NOISE)
            if account == ACCOUNT and chance.random() < 0.5:  # in one body with it
                changes.insert(chance.randrange(len(changes) + 1), (field, value))
            else:
                self.body(account, [(field, value)])
            self.body(ACCOUNT, changes)
            self.stored_s[row] = time.monotonic()
            if chance.random() < 0.3:  # the service repeats events
                self.body(ACCOUNT, changes)


@pytest.mark.long
def test_every_stop_holds_and_no_status_is_lost(scene: Scene) -> None:
    scene.create(PEOPLE, numbers=(NUMBER,))
    post, chance = Post(f"{scene.receiver}/webhook"), random.Random(7)
    rows = chance.sample(range(PEOPLE // 3, PEOPLE), STOPPING)
    run = scene.drumbeat.start("campaign", "run", "spring", "--quiet")
    posting = threading.Thread(target=post.all, args=(rows, 7))
    posting.start()
    for kill in range(KILLS):
        until(lambda mark=(kill + 1) * PEOPLE // 10: scene.service.accepted() > mark, "more is sent")
        run.send_signal(signal.SIGKILL)
        run.communicate()
        run = scene.drumbeat.start("campaign", "run", "spring", "--quiet")
    posting.join()

    post.body(
        ACCOUNT, [("account_update", {"event": "DISABLED_UPDATE", "ban_info": {"waba_ban_state": "DISABLE"}})]
    )
    until(lambda: scene.state() == "paused", "the account holds the campaign")
    status = scene.status()
    assert (status["reason"], status["reason_code"]) == (
        "the service has disabled the account (DISABLE)", "account_refused",
    )  # fmt: skip
    assert run.communicate() and run.returncode == 75
    scene.drumbeat.ok("campaign", "resume", "spring")
    scene.drumbeat("campaign", "run", "spring", "--quiet")

    until(scene.events_delivered, "every event was delivered")
    until(lambda: scene.counts()["accepted"] == 0 and scene.counts()["sent"] == 0, "every status is applied")
    scene.drumbeat("campaign", "settle", "spring", "--resend", "--quiet")
    until(lambda: scene.counts()["unknown"] == 0, "nobody is in doubt")

    ledger = scene.service.ledger()
    assert max(Counter(entry["to"] for entry in ledger).values()) == 1, "somebody got two messages"
    sent_s = {int(entry["to"]) - FIRST: entry["received_at_ns"] / 1e9 for entry in ledger}
    late = {
        row: sent_s[row] - post.stored_s[row]
        for row in rows
        if sent_s.get(row, 0.0) > post.stored_s[row] + CLAIMED_S
    }
    assert late == {}, "by ways: " + str(Counter(row % len(WAYS) for row in late))
    left_out = set(range(PEOPLE)) - set(sent_s)
    assert left_out <= set(rows), "somebody was forgotten"
    assert len(left_out) == scene.counts()["skipped"] > STOPPING // 2
