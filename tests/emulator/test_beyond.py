"""What services of this family send beyond the interface: by the control plane, and by faults."""

from typing import Any

import pytest

from tests.emulator.conftest import ACCOUNT, ANA, NUMBER, Client, Receiver, Start, template

USER = "US.1349120865530274"
STRANGER = "999999999999999"
TEMPLATES = f"/{ACCOUNT}/message_templates"


async def message_of(client: Client, receiver: Receiver, **content: Any) -> dict[str, Any]:
    written = await client.control("incoming", **content)
    found: dict[str, Any] = await receiver.until(
        lambda _: next((each for each in receiver.messages() if each["id"] == written.body["id"]), None)
    )
    return found


@pytest.mark.parametrize(
    ("sender", "named", "contact"),
    [
        ({"user_id": USER}, {"from_user_id": USER}, {"user_id": USER}),
        (
            {"from": ANA, "user_id": USER},
            {"from": ANA, "from_user_id": USER},
            {"wa_id": ANA, "user_id": USER},
        ),
        ({"from": USER}, {"from": USER}, {"wa_id": USER}),
        ({"from": "+14155550148"}, {"from": "+14155550148"}, {"wa_id": "+14155550148"}),
        ({"from": "120363025000000001"}, {"from": "120363025000000001"}, {"wa_id": "120363025000000001"}),
    ],
)
async def test_a_customer_may_have_no_phone_or_another_spelling(
    start: Start, receiver: Receiver, sender: dict[str, str], named: dict[str, str], contact: dict[str, str]
) -> None:
    client = await start(callback=receiver.url)
    message = await message_of(client, receiver, text="STOP", **sender)
    assert {name: message[name] for name in message if name.startswith("from")} == named
    assert receiver.changes()[0]["contacts"] == [{"profile": {"name": "Customer"}, **contact}]


@pytest.mark.parametrize(
    "wrong", [{}, {"from": "+"}, {"from": "+1 415"}, {"user_id": "ada"}, {"from": "US"}, {"from": "1" * 40}]
)
async def test_a_sender_that_nobody_has_is_refused(client: Client, wrong: dict[str, str]) -> None:
    answer = await client.call("POST", "/_emulator/incoming", json={"text": "STOP", **wrong})
    assert (answer.status, answer.code) == (400, 100)


async def test_a_quote_may_have_another_id(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    wamid = (await client.send(template())).wamid
    sender = {"from": ANA, "quotes": wamid}
    right = await message_of(client, receiver, **sender)
    other = await message_of(client, receiver, other_id=True, **sender)
    assert right["context"] == {"from": "15550000001", "id": wamid}
    assert other["context"]["id"].startswith("wamid.") and other["context"]["id"] != wamid


async def test_a_customer_has_a_new_number(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    message = await message_of(client, receiver, new_number="14155550198", **{"from": "14155550152"})
    assert (message["type"], message["from"]) == ("system", "14155550152")
    system = message["system"]
    assert (system["type"], system["wa_id"]) == ("user_changed_number", "14155550198")
    assert "from 14155550152 to 14155550198" in system["body"]


@pytest.mark.parametrize("value", ["stop", "resume"])
@pytest.mark.parametrize(
    ("who", "named"),
    [({"from": ANA}, {"wa_id": ANA}), ({"user_id": USER}, {"user_id": USER})],
)
async def test_a_customer_stops_and_resumes_in_the_app(
    start: Start, receiver: Receiver, value: str, who: dict[str, str], named: dict[str, str]
) -> None:
    client = await start(callback=receiver.url)
    await client.control("preferences", value=value, **who)
    (change,) = await receiver.until(lambda _: receiver.changes("user_preferences"))
    (preference,) = change["user_preferences"]
    assert preference.items() >= {**named, "category": "marketing_messages", "value": value}.items()
    assert preference["timestamp"].isdigit()
    assert change["metadata"]["phone_number_id"] == NUMBER
    assert change["contacts"][0].items() >= named.items()


@pytest.mark.parametrize(
    ("known", "named"),
    [
        ({"user_id": USER}, {"recipient_id": ANA, "recipient_user_id": USER}),
        ({"user_id": USER, "hides_phone": True}, {"recipient_user_id": USER}),
        ({"wa_id": f"+{ANA}"}, {"recipient_id": f"+{ANA}"}),
    ],
)
async def test_a_status_names_a_person_as_the_network_knows_them(
    start: Start, receiver: Receiver, known: dict[str, Any], named: dict[str, str]
) -> None:
    client = await start(callback=receiver.url, read_ratio=0.0)
    await client.control("recipients", to=ANA, **known)
    wamid = (await client.send(template())).wamid
    await receiver.until(lambda _: len(receiver.statuses(wamid)) == 2)
    for status in receiver.statuses(wamid):
        assert {name: status[name] for name in status if name.startswith("recipient")} == named


async def test_an_event_may_be_of_an_account_that_nobody_knows(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    value = {"event": "PAUSED", "message_template_name": "winter_sale"}
    await client.control("events", field="message_template_status_update", value=value, account=STRANGER)
    await client.control("events", field="a_field_to_come", value={"a": 1})
    await receiver.until(lambda _: receiver.changes("a_field_to_come"))
    entries = {entry["id"]: entry["changes"] for post in receiver.posts for entry in post["entry"]}
    assert entries[STRANGER] == [{"field": "message_template_status_update", "value": value}]
    assert entries[ACCOUNT] == [{"field": "a_field_to_come", "value": {"a": 1}}]


async def test_a_template_of_another_account_changes_alone(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    await client.control("accounts", id="77")
    await client.control("templates/order_shipped/status", status="PAUSED", account="77", language="en_US")
    await receiver.until(lambda _: receiver.changes("message_template_status_update"))
    assert receiver.posts[0]["entry"][0]["id"] == "77"
    assert (await client.send(template())).status == 200


@pytest.mark.parametrize(
    ("event", "status", "code"),
    [
        ("FLAGGED", "APPROVED", None),
        ("REINSTATED", "APPROVED", None),
        ("UNLOCKED", "APPROVED", None),
        ("IN_APPEAL", "IN_APPEAL", 132001),
        ("PENDING_DELETION", "PENDING_DELETION", 132001),
    ],
)
async def test_a_template_has_every_event(
    start: Start, receiver: Receiver, event: str, status: str, code: int | None
) -> None:
    client = await start(callback=receiver.url)
    if event in ("REINSTATED", "UNLOCKED"):
        await client.control("templates/spring_offer/status", status="PAUSED")
    await client.control("templates/spring_offer/status", status=event)
    last = await receiver.until(lambda _: receiver.changes("message_template_status_update")[-1:])
    await receiver.until(lambda _: receiver.changes("message_template_status_update")[-1]["event"] == event)
    assert last[0]["message_template_name"] == "spring_offer"
    listed = (await client.call("GET", TEMPLATES, params={"name": "spring_offer"})).body["data"]
    assert [each["status"] for each in listed] == [status]
    assert (await client.send(template(name="spring_offer"))).code == code


async def test_a_template_moves_to_another_category(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    move = {"category": "MARKETING", "language": "en_US"}
    await client.control("templates/order_shipped/category", upcoming=True, **move)
    await receiver.until(lambda _: receiver.changes("template_category_update"))
    listed = {"name": "order_shipped", "language": "en_US"}
    assert (await client.call("GET", TEMPLATES, params=listed)).body["data"][0]["category"] == "UTILITY"
    await client.control("templates/order_shipped/category", **move)
    await receiver.until(lambda _: len(receiver.changes("template_category_update")) == 2)
    coming, done = receiver.changes("template_category_update")
    assert (coming["new_category"], coming["correct_category"]) == ("UTILITY", "MARKETING")
    assert (done["previous_category"], done["new_category"]) == ("UTILITY", "MARKETING")
    assert done["message_template_name"] == "order_shipped"
    assert (await client.call("GET", TEMPLATES, params=listed)).body["data"][0]["category"] == "MARKETING"


async def test_a_template_has_a_quality(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    await client.control("templates/spring_offer/quality", score="RED")
    (change,) = await receiver.until(lambda _: receiver.changes("message_template_quality_update"))
    assert (change["previous_quality_score"], change["new_quality_score"]) == ("UNKNOWN", "RED")
    query = {"name": "spring_offer", "fields": "name,quality_score"}
    listed = (await client.call("GET", TEMPLATES, params=query)).body["data"]
    (quality,) = [each["quality_score"] for each in listed]
    assert quality["score"] == "RED"
    assert quality["date"] >= (await client.ask("health"))["unix_s"] - 60
    await client.control("restore", **await client.ask("snapshot"))
    assert (await client.call("GET", TEMPLATES, params=query)).body["data"] == listed


@pytest.mark.parametrize(
    "event", ["DISABLED_UPDATE", "ACCOUNT_RESTRICTION", "ACCOUNT_VIOLATION", "A_NEW_ONE"]
)
async def test_an_account_has_every_event(start: Start, receiver: Receiver, event: str) -> None:
    client = await start(callback=receiver.url)
    details = {"ban_info": {"waba_ban_state": "DISABLE"}}
    await client.control("accounts", id=ACCOUNT, event=event, details=details, review="REJECTED")
    await receiver.until(lambda _: receiver.changes("account_review_update"))
    assert receiver.changes("account_update") == [{"event": event, **details}]
    assert receiver.changes("account_review_update") == [{"decision": "REJECTED"}]


@pytest.mark.parametrize("word", ["TIER_NEW", "2000", "TIER_2K"])
async def test_a_number_shows_any_word_for_its_limit(start: Start, receiver: Receiver, word: str) -> None:
    client = await start(callback=receiver.url)
    await client.control("numbers", id=NUMBER, messaging_limit_tier="TIER_10K")
    await client.control("numbers", id=NUMBER, tier_word=word)
    await receiver.until(lambda _: len(receiver.changes("phone_number_quality_update")) == 2)
    change = receiver.changes("phone_number_quality_update")[1]
    assert (change["current_limit"], change["old_limit"]) == (word, "TIER_10K")
    assert (await client.call("GET", f"/{NUMBER}")).body["messaging_limit_tier"] == word
    limit = client.emulator.service.numbers[NUMBER].tiers.word
    assert limit == (word if word == "TIER_2K" else "TIER_10K")
    await client.control("restore", **await client.ask("snapshot"))
    assert (await client.call("GET", f"/{NUMBER}")).body["messaging_limit_tier"] == word
    await client.control("numbers", id=NUMBER, tier_word=None)
    assert (await client.call("GET", f"/{NUMBER}")).body["messaging_limit_tier"] == limit


async def test_an_app_that_is_not_subscribed_hears_nothing(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    apps = f"/{ACCOUNT}/subscribed_apps"
    await client.control("accounts", id=ACCOUNT, subscribed=False)
    assert (await client.call("GET", apps)).body == {"data": []}
    await client.send(template())
    await client.control("incoming", **{"from": ANA})
    await client.settled()
    assert receiver.posts == []
    await client.control("accounts", id=ACCOUNT, subscribed=True)
    assert len((await client.call("GET", apps)).body["data"]) == 1
    await message_of(client, receiver, **{"from": ANA})


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("preferences", {"from": ANA, "value": "perhaps"}),
        ("preferences", {"value": "stop"}),
        ("preferences", {"from": ANA, "value": "stop", "phone_number_id": "none"}),
        ("events", {"field": "messages"}),
        ("templates/order_shipped/category", {"category": "FUN"}),
        ("templates/order_shipped/quality", {"score": "BLUE"}),
        ("templates/order_shipped/status", {"status": "PAUSED", "account": "none"}),
        ("recipients", {"to": ANA, "user_id": "ada"}),
        ("accounts", {"id": ACCOUNT, "details": "x"}),
        ("numbers", {"id": NUMBER, "tier_word": 5}),
    ],
)
async def test_a_command_about_events_that_cannot_be_is_refused(
    client: Client, path: str, content: dict[str, Any]
) -> None:
    answer = await client.call("POST", f"/_emulator/{path}", json=content)
    assert answer.status in (400, 404)
    assert answer.code in (33, 100, 132001)
