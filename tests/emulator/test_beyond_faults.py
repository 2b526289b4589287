"""Faults that make events and replies beyond the interface: what happens after a message, other forms."""

import asyncio
import gzip
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from aiohttp import web

from drumbeat.emulator.config import FaultConfig, parse_fault
from drumbeat.emulator.errors import KINDS
from drumbeat.emulator.events.envelope import signature
from tests.emulator.conftest import ACCOUNT, ANA, NUMBER, OTHER_NUMBER, Client, Receiver, Start, template
from tests.emulator.test_beyond import STRANGER, message_of


def fault(text: str) -> dict[str, Any]:
    """A fault as the command line spells it, for the control plane."""
    config: FaultConfig = parse_fault(text)
    return {"kind": config.kind, "probability": config.probability, **config.options}


Look = Callable[[Receiver], Any]


def _message(receiver: Receiver) -> Any:
    return receiver.messages()[0]


def _change(field: str, *names: str) -> Look:
    return lambda receiver: [receiver.changes(field)[0][name] for name in names]


def _ids(receiver: Receiver) -> list[str]:
    return [entry["id"] for post in receiver.posts for entry in post["entry"]]


@pytest.mark.parametrize(
    ("text", "look", "seen"),
    [
        ("reply", lambda got: (_message(got)["from"], _message(got)["text"]["body"]), (ANA, "STOP")),
        ("reply:1,sender=plus,text=stop", lambda got: _message(got)["from"], f"+{ANA}"),
        ("reply:1,sender=user-id", lambda got: "from" in _message(got), False),
        ("reply:1,sender=user-id", lambda got: _message(got)["from_user_id"][:3], "US."),
        ("reply:1,sender=user-id-as-phone", lambda got: _message(got)["from"][:3], "US."),
        ("reply:1,type=button,text=Stop", lambda got: _message(got)["button"]["text"], "Stop"),
        (
            "reply:1,type=interactive,text=Stop",
            lambda got: _message(got)["interactive"]["button_reply"]["title"],
            "Stop",
        ),
        ("reply:1,quote=none", lambda got: "context" in _message(got), False),
        ("reply:1,quote=other", lambda got: _message(got)["context"]["id"][:8], "wamid.ZZ"),
        (
            "preference",
            lambda got: got.changes("user_preferences")[0]["user_preferences"][0]["value"],
            "stop",
        ),
        (
            "preference:1,value=resume,sender=user-id",
            lambda got: "wa_id" in got.changes("user_preferences")[0]["user_preferences"][0],
            False,
        ),
        ("number-change", lambda got: _message(got)["system"]["wa_id"], str(int(ANA) + 1)),
        ("number-change:1,to=14155550198", lambda got: _message(got)["system"]["wa_id"], "14155550198"),
        ("account-event", _change("account_update", "event"), ["DISABLED_UPDATE"]),
        ("account-event:1,event=ACCOUNT_RESTRICTION,account=77", _ids, ["77"]),
        ("account-review", _change("account_review_update", "decision"), ["REJECTED"]),
        (
            "template-event",
            _change("message_template_status_update", "event", "message_template_name"),
            ["FLAGGED", "order_shipped"],
        ),
        ("template-event:1,event=PAUSED,account=77", _ids, ["77"]),
        ("template-quality", _change("message_template_quality_update", "new_quality_score"), ["RED"]),
        (
            "template-category",
            _change("template_category_update", "previous_category", "new_category"),
            ["UTILITY", "MARKETING"],
        ),
        (
            "template-category:1,upcoming=yes",
            _change("template_category_update", "correct_category"),
            ["MARKETING"],
        ),
        (
            "tier-change",
            _change("phone_number_quality_update", "current_limit", "event"),
            ["TIER_2K", "DOWNGRADE"],
        ),
        (
            "tier-change:1,word=TIER_NEW",
            _change("phone_number_quality_update", "current_limit"),
            ["TIER_NEW"],
        ),
    ],
)
async def test_a_fault_lets_something_happen_after_a_message(
    start: Start, receiver: Receiver, text: str, look: Look, seen: Any
) -> None:
    client = await start(callback=receiver.url, statuses=False)
    await client.control("faults", **fault(text))
    assert (await client.send(template())).status == 200
    await receiver.until(lambda _: receiver.posts)
    assert look(receiver) == seen


async def test_nothing_happens_after_a_message_that_was_refused(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, statuses=False)
    await client.control("faults", kind="preference")
    assert (await client.send(template(name="none"))).code == 132001
    written = await message_of(client, receiver, **{"from": ANA})
    read = {"messaging_product": "chat", "status": "read", "message_id": written["id"]}
    assert (await client.send(read)).status == 200
    await client.settled()
    assert receiver.changes("user_preferences") == []


async def test_a_templates_event_elsewhere_changes_nothing_here(client: Client) -> None:
    await client.control("faults", kind="template-event", event="PAUSED", account=STRANGER, count=1)
    assert (await client.send(template())).status == 200
    assert (await client.send(template("5511987654322"))).status == 200
    await client.control("faults", kind="template-event", event="PAUSED", count=1)
    assert (await client.send(template("5511987654323"))).status == 200
    assert (await client.send(template("5511987654324"))).code == 132015


async def test_a_subscription_is_lost_by_a_fault(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    await client.control("faults", kind="subscription-loss", count=1)
    await client.send(template())
    await client.settled()
    assert receiver.posts == []
    assert (await client.call("GET", f"/{ACCOUNT}/subscribed_apps")).body == {"data": []}


@pytest.mark.parametrize(
    ("kind", "look", "seen"),
    [
        ("events-with-plus", lambda status: status["recipient_id"], f"+{ANA}"),
        ("events-by-user-id", lambda status: "recipient_id" in status, False),
        ("events-by-user-id", lambda status: status["recipient_user_id"][:3], "US."),
        ("events-unbilled", lambda status: sorted(status["pricing"]), ["category", "pricing_model", "type"]),
        ("events-unbilled", lambda status: status["pricing"]["type"], "regular"),
    ],
)
async def test_a_status_in_another_form(
    start: Start, receiver: Receiver, kind: str, look: Callable[[Any], Any], seen: Any
) -> None:
    client = await start(callback=receiver.url, read_ratio=0.0)
    await client.control("faults", kind=kind)
    wamid = (await client.send(template())).wamid
    await receiver.until(lambda _: len(receiver.statuses(wamid)) == 2)
    assert [look(status) for status in receiver.statuses(wamid)] == [seen, seen]


async def test_statuses_of_another_account_stand_apart_in_the_same_body(
    start: Start, receiver: Receiver
) -> None:
    client = await start(read_ratio=0.0)
    service = client.emulator.service
    await client.control("faults", kind="events-of-another-account", count=1)
    service.subscriptions.set_callback(receiver.url)
    wamid = (await client.send(template())).wamid
    await receiver.until(lambda _: len(receiver.statuses(wamid)) == 2)
    by_account: dict[str, list[str]] = {}
    for post in receiver.posts:
        for entry in post["entry"]:
            statuses = [each["status"] for change in entry["changes"] for each in change["value"]["statuses"]]
            by_account.setdefault(entry["id"], []).extend(statuses)
    assert sorted(map(len, by_account.values())) == [1, 1]
    assert set(by_account) == {ACCOUNT, STRANGER}


async def test_events_come_packed(start: Start) -> None:
    arrived: asyncio.Queue[tuple[str | None, str | None, bytes]] = asyncio.Queue()

    async def take(request: web.BaseRequest) -> web.Response:
        body = await request.content.read()
        await arrived.put(
            (request.headers.get("Content-Encoding"), request.headers["X-Hub-Signature-256"], body)
        )
        return web.Response()

    # The server must not unpack: the signature is over the packed bytes.
    server = web.Server(take, auto_decompress=False)
    runner = web.ServerRunner(server)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        client = await start(callback=f"http://127.0.0.1:{runner.addresses[0][1]}/webhook")
        await client.control("faults", kind="events-packed", count=1)
        await client.control("incoming", text="STOP", **{"from": ANA})
        encoding, signed, body = await arrived.get()
        assert (encoding, signed) == ("gzip", signature(body, "emulator-secret"))
        (entry,) = orjson.loads(gzip.decompress(body))["entry"]
        assert entry["changes"][0]["value"]["messages"][0]["text"]["body"] == "STOP"
        await client.control("incoming", **{"from": ANA})
        assert (await arrived.get())[0] is None
    finally:
        await runner.cleanup()


async def test_every_code_fails_a_message_by_a_status(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    codes = [code for code in sorted(KINDS) if not 200 <= code < 300 and code]
    sent = {}
    for number, code in enumerate((*codes, 200, 299)):
        await client.call("DELETE", "/_emulator/faults")
        await client.control("faults", kind="failed-status", code=code)
        sent[(await client.send(template(f"55119876{number:05d}"))).wamid] = code
    await receiver.until(lambda _: len(receiver.statuses()) == 2 * len(sent))
    failed = {each["id"]: each["errors"][0] for each in receiver.statuses() if each["status"] == "failed"}
    assert {wamid: error["code"] for wamid, error in failed.items()} == sent
    assert all(error["title"] == KINDS[error["code"]].title for error in failed.values())


@pytest.mark.parametrize(
    ("options", "members"),
    [
        ({}, {}),
        ({"is_transient": "yes"}, {"is_transient": True}),
        ({"is_transient": False}, {"is_transient": False}),
        ({"code": 100, "error_subcode": 33}, {"error_subcode": 33}),
    ],
)
async def test_a_refusal_may_be_transient_or_have_a_subcode(
    client: Client, options: dict[str, Any], members: dict[str, Any]
) -> None:
    await client.control("faults", kind="refusal", **options)
    error = (await client.send(template())).body["error"]
    assert {name: error[name] for name in ("is_transient", "error_subcode") if name in error} == members


@pytest.mark.parametrize("word", ["held_for_quality_assessment", "paused", "a_new_word"])
async def test_a_reply_says_that_the_message_waits(client: Client, word: str) -> None:
    await client.control("faults", kind="message-status", word=word, number=OTHER_NUMBER)
    held = await client.send(template(), number=OTHER_NUMBER)
    assert held.body["messages"][0]["message_status"] == word
    assert (await client.send(template())).body["messages"][0]["message_status"] == "accepted"


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "reply", "sender": "nobody"},
        {"kind": "reply", "type": "smell"},
        {"kind": "reply", "quote": "mine"},
        {"kind": "preference", "value": "perhaps"},
        {"kind": "number-change", "to": "+1"},
        {"kind": "template-event", "event": "FINE"},
        {"kind": "template-quality", "score": "BLUE"},
        {"kind": "template-category", "category": "FUN"},
        {"kind": "template-category", "upcoming": "soon"},
        {"kind": "events-packed", "number": NUMBER},
        {"kind": "refusal", "is_transient": "soon"},
        {"kind": "refusal", "error_subcode": "x"},
    ],
)
async def test_what_none_of_these_can_be_is_refused(client: Client, wrong: dict[str, Any]) -> None:
    answer = await client.call("POST", "/_emulator/faults", json=wrong)
    assert (answer.status, answer.code) == (400, 100)
