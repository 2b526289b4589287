"""Events reach the callback: signed over their bytes, in batches, again until they are taken."""

import asyncio

import pytest

from drumbeat.emulator.events.envelope import Update
from drumbeat.emulator.events.subscriber import Batch, Subscriber
from tests.emulator.conftest import ACCOUNT, ANA, NUMBER, WAIT_LIMIT_S, Receiver, Start, template


async def test_statuses_follow_a_message_with_its_tag(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, read_ratio=1.0)
    wamid = (await client.send(template(biz_opaque_callback_data="tag-1"))).wamid
    statuses = await receiver.until(lambda _: len(receiver.statuses(wamid)) == 3 and receiver.statuses(wamid))
    assert sorted(status["status"] for status in statuses) == ["delivered", "read", "sent"]
    for status in statuses:
        assert status["recipient_id"] == ANA
        assert status["biz_opaque_callback_data"] == "tag-1"
        assert status["timestamp"].isdigit()
    value = receiver.changes()[0]
    assert value["messaging_product"] == "chat"
    assert value["metadata"]["phone_number_id"] == NUMBER
    assert receiver.posts[0]["object"] == "chat_business_account"
    assert receiver.posts[0]["entry"][0]["id"] == ACCOUNT
    assert receiver.wrong_signatures == 0


async def test_a_failed_status_names_its_error(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    await client.control("recipients", to=ANA, fails_with=131049)
    wamid = (await client.send(template())).wamid
    statuses = await receiver.until(lambda _: len(receiver.statuses(wamid)) == 2 and receiver.statuses(wamid))
    failed = next(status for status in statuses if status["status"] == "failed")
    assert failed["errors"][0]["code"] == 131049
    assert failed["errors"][0]["error_data"]["details"]


async def test_a_share_fails_and_a_share_reads_by_the_seed(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, failed_ratio=0.3, read_ratio=0.5)
    for number in range(60):
        await client.send(template(f"55119876{number:05d}"))
    await receiver.until(lambda _: _all_final(receiver, 60))
    words = [status["status"] for status in receiver.statuses()]
    assert 5 < words.count("failed") < 40
    assert words.count("failed") + words.count("delivered") == 60
    assert 5 < words.count("read") < 45


def _all_final(receiver: Receiver, messages: int) -> bool:
    words = [status["status"] for status in receiver.statuses()]
    return words.count("failed") + words.count("delivered") >= messages and "read" in words


async def test_a_refused_post_comes_again_with_the_same_bytes(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, read_ratio=0.0, event_retry_wait_s=0.01)
    receiver.refusals = [500, 503, 404]
    wamid = (await client.send(template())).wamid
    await receiver.until(lambda _: len(receiver.statuses(wamid)) == 2 and len(receiver.bodies) >= 4)
    refused = receiver.bodies[0]
    assert receiver.bodies.count(refused) >= 2
    summary = await client.ask("events/summary")
    assert summary["failed_posts"] == 3
    assert summary["delivered"] == 2
    assert summary["pending"] == 0


async def test_waits_grow_and_events_are_given_up_after_seven_days(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, read_ratio=0.0)
    receiver.refusals = [500] * 30
    await client.send(template())
    await receiver.until(lambda _: len(receiver.bodies) >= 2)
    await client.control("clock", seconds=8 * 24 * 3600)
    await receiver.until(lambda _: len(receiver.bodies) >= 3)
    await client.settled()
    summary = await client.ask("events/summary")
    assert summary["failed"] == 2
    assert summary["delivered"] == 0


def test_a_refused_batch_comes_again_at_once_and_then_after_growing_waits_for_seven_days() -> None:
    subscriber = Subscriber("http://127.0.0.1:1/nobody", "secret")
    subscriber.settle(Batch(0, 1, b"body", 2, 1, 0), delivered=False, now_ns=0)
    waits_s, now_ns = [], 0
    while subscriber.retries:
        due_ns = subscriber.retries[0].due_ns
        assert subscriber.due_retry(due_ns - 1) is None
        batch = subscriber.due_retry(due_ns)
        assert batch is not None and batch.body == b"body"
        waits_s.append((due_ns - now_ns) / 10**9)
        now_ns = due_ns
        subscriber.settle(batch, delivered=False, now_ns=now_ns)
    assert waits_s[:12] == [0, 1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900]
    assert set(waits_s[12:]) == {900}
    assert 7 * 86_400 < now_ns / 10**9 <= 7 * 86_400 + 900
    assert subscriber.record()["failed"] == 2


async def test_what_waited_for_one_callback_goes_to_the_next(start: Start, receiver: Receiver) -> None:
    client = await start(callback="http://127.0.0.1:1/nobody", read_ratio=0.0, event_retry_wait_s=0.01)
    wamid = (await client.send(template())).wamid
    async with asyncio.timeout(WAIT_LIMIT_S):
        while not (await client.ask("events/summary"))["failed_posts"]:
            pass
    await client.control("callback", url=receiver.url)
    await receiver.until(lambda _: len(receiver.statuses(wamid)) == 2)


def test_the_events_that_wait_for_another_attempt_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("drumbeat.emulator.events.subscriber.RETRIES_LIMIT_BYTES", 100)
    subscriber = Subscriber("http://127.0.0.1:1/nobody", "secret")
    subscriber.queue(Update(ACCOUNT, None, "account_update", {}))
    for order in range(4):
        assert subscriber.may_pack
        subscriber.settle(Batch(0, order, b"x" * 25, 1, 1, 0), delivered=False, now_ns=0)
    assert not subscriber.may_pack
    assert subscriber.due_retry(0) is not None
    assert subscriber.may_pack


async def test_many_statuses_go_in_batches_of_up_to_a_thousand(start: Start, receiver: Receiver) -> None:
    client = await start(read_ratio=0.0)
    service = client.emulator.service
    line = service.send_endpoints[f"/v22.0/{NUMBER}/messages".encode()]
    service.numbers[NUMBER].window.set_rate(100_000)
    service.subscriptions.set_callback(receiver.url)
    for number in range(1200):
        body = client.session.json_serialize(template(f"55119876{number:05d}")).encode()
        assert line.answer(b"Bearer emulator-token", body).startswith(b"HTTP/1.1 200")
    await receiver.until(lambda _: len(receiver.statuses()) == 2400)
    sizes = [len(value["statuses"]) for value in receiver.changes()]
    assert max(sizes) == 1000
    assert len(sizes) <= 10


async def test_without_a_callback_or_with_statuses_off_nothing_is_planned(
    start: Start, receiver: Receiver
) -> None:
    client = await start()
    await client.send(template())
    await client.control("callback", url=receiver.url)
    await client.control("statuses", on=False)
    await client.send(template())
    assert (await client.ask("events/summary"))["pending"] == 0
    await client.control("statuses", on=True)
    wamid = (await client.send(template("5511987654322"))).wamid
    await receiver.until(lambda _: len(receiver.statuses(wamid)) >= 2)
    assert {status["id"] for status in receiver.statuses()} == {wamid}


async def test_an_incoming_message_is_reported_and_can_be_marked_as_read(
    start: Start, receiver: Receiver
) -> None:
    client = await start(callback=receiver.url)
    written = await client.control("incoming", phone_number_id=NUMBER, text="Oi", name="Ana", **{"from": ANA})
    message = (await receiver.until(lambda _: receiver.messages()))[0]
    assert message["from"] == ANA
    assert message["id"] == written.body["id"]
    assert (message["type"], message["text"]) == ("text", {"body": "Oi"})
    assert receiver.changes()[0]["contacts"] == [{"profile": {"name": "Ana"}, "wa_id": ANA}]
    read = {"messaging_product": "chat", "status": "read", "message_id": message["id"]}
    assert (await client.send(read)).body == {"success": True}
    assert (await client.send({**read, "message_id": "wamid.unknown"})).code == 131009


async def test_a_reviewed_template_is_announced(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    await client.control("templates/loyalty_launch/status", status="APPROVED")
    value = (await receiver.until(lambda _: receiver.changes("message_template_status_update")))[0]
    assert value["event"] == "APPROVED"
    assert value["message_template_name"] == "loyalty_launch"
    assert value["message_template_language"] == "en_US"
    assert (await client.send(template(name="loyalty_launch"))).status == 200


async def test_events_are_ascii_and_signed_as_sent(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    text = 'Olá "Zoë" 👍 \\ 字'
    await client.control("incoming", phone_number_id=NUMBER, text=text, **{"from": ANA})
    message = (await receiver.until(lambda _: receiver.messages()))[0]
    assert message["text"]["body"] == text
    assert receiver.wrong_signatures == 0
    assert all(body.isascii() for body in receiver.bodies)
    assert b'Ol\\u00e1 \\"Zo\\u00eb\\" \\ud83d\\udc4d' in receiver.bodies[0]
