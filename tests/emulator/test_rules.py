"""Rules that take a day to show: reviews, tiers, budgets, registration, the profile, analytics."""

from typing import Any

import pytest
from aiohttp import web

from drumbeat.emulator.config import NumberConfig
from tests.emulator.conftest import ACCOUNT, ANA, NUMBER, OTHER_NUMBER, Client, Receiver, Start, template

TEMPLATES = f"/{ACCOUNT}/message_templates"
PROFILE = f"/{NUMBER}/chat_business_profile"


def new_template(text: str, example: Any, **change: Any) -> dict[str, Any]:
    body = {"type": "BODY", "text": text, **({"example": example} if example else {})}
    return {"name": "fresh", "category": "UTILITY", "language": "en", "components": [body], **change}


async def reviewed(client: Client, receiver: Receiver, content: dict[str, Any]) -> dict[str, Any]:
    assert (await client.call("POST", TEMPLATES, json=content)).body["status"] == "PENDING"
    await client.control("clock", seconds=60)
    changes = await receiver.until(lambda _: receiver.changes("message_template_status_update"))
    found = await client.call("GET", TEMPLATES, params={"name": "fresh"})
    assert found.body["data"][0]["status"] == changes[0]["event"]
    return {**changes[0], "category": found.body["data"][0]["category"]}


async def test_a_review_approves_what_has_an_example_for_every_variable(
    start: Start, receiver: Receiver
) -> None:
    client = await start(callback=receiver.url)
    event = await reviewed(client, receiver, new_template("Hi {{1}}, {{2}}", {"body_text": [["A", "B"]]}))
    assert event["event"] == "APPROVED"
    assert event["message_template_name"] == "fresh"
    assert event["category"] == "UTILITY"


@pytest.mark.parametrize("example", [None, {"body_text": [["only one"]]}, {"body_text": [["A", ""]]}])
async def test_a_review_rejects_what_lacks_an_example(start: Start, receiver: Receiver, example: Any) -> None:
    client = await start(callback=receiver.url)
    event = await reviewed(client, receiver, new_template("Hi {{1}}, {{2}}", example))
    assert (event["event"], event["reason"]) == ("REJECTED", "INVALID_FORMAT")


async def test_a_review_may_change_the_category(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    event = await reviewed(client, receiver, new_template("A special offer for you", None))
    assert (event["event"], event["category"]) == ("APPROVED", "MARKETING")


async def test_a_template_paused_after_acceptance_fails_the_message(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    client.emulator.service.schedule._delay_ns = [3600 * 10**9] * 4
    wamid = (await client.send(template())).wamid
    await client.control("templates/order_shipped/status", status="PAUSED")
    await client.control("clock", seconds=100 * 3600)
    statuses = await receiver.until(lambda _: receiver.statuses(wamid))
    assert [status["status"] for status in statuses] == ["failed"]
    assert statuses[0]["errors"][0]["code"] == 132015
    await client.settled()
    assert len(receiver.statuses(wamid)) == 1


async def fill(client: Client, count: int, offset: int = 0) -> list[int | None]:
    everyone = [f"5511{number + offset:08d}" for number in range(count)]
    return [(await client.send(template(to))).code for to in everyone]


async def test_the_messaging_limit_counts_people_in_a_moving_day(client: Client) -> None:
    await client.control("numbers", id=NUMBER, messaging_limit_tier="TIER_250")
    await client.control("accounts", id=ACCOUNT, verified=False)
    assert await fill(client, 250) == [None] * 250
    assert await fill(client, 2) == [None] * 2  # known people are no new ones
    assert await fill(client, 1, offset=250) == [130429]
    newcomer = f"5511{250:08d}"
    await client.control("incoming", phone_number_id=NUMBER, **{"from": newcomer})
    assert await fill(client, 1, offset=250) == [None]  # inside an open window nothing is counted
    await client.control("clock", seconds=86_000)
    assert await fill(client, 1) == [None]  # who is known is written to again, and counts a day from now
    await client.control("clock", seconds=400)
    assert await fill(client, 250, offset=251) == [None] * 249 + [130429]
    listed = (await client.call("GET", f"/{NUMBER}")).body
    assert listed["messaging_limit_tier"] == "TIER_250"  # only a verified business grows out of it


async def test_numbers_share_the_limit_of_their_account_if_the_emulator_is_told_so(start: Start) -> None:
    numbers = (
        NumberConfig(NUMBER, 1_000, tier="TIER_250"),
        NumberConfig(OTHER_NUMBER, 1_000, tier="TIER_250"),
    )
    client = await start(numbers=numbers, quota_scope="account")
    assert await fill(client, 200) == [None] * 200
    elsewhere = [
        (await client.send(template(f"5511{person:08d}"), number=OTHER_NUMBER)).code for person in range(300)
    ]
    assert elsewhere == [None] * 250 + [130429] * 50, "200 of them are known"


async def test_the_limit_grows_with_use_and_quality_and_is_announced(
    start: Start, receiver: Receiver
) -> None:
    client = await start(callback=receiver.url, statuses=False)
    await client.control("numbers", id=NUMBER, messaging_limit_tier="TIER_1K")
    await fill(client, 500)
    await client.control("clock", seconds=86_400)
    await fill(client, 1, offset=600)
    assert (await client.call("GET", f"/{NUMBER}")).body["messaging_limit_tier"] == "TIER_10K"
    both = await receiver.until(
        lambda _: (
            len(receiver.changes("phone_number_quality_update")) == 2
            and receiver.changes("phone_number_quality_update")
        )
    )
    assert ("UPGRADE", "TIER_10K") in [(event["event"], event["current_limit"]) for event in both]


async def test_verification_lifts_the_limit_of_250(client: Client) -> None:
    await client.control("numbers", id=NUMBER, messaging_limit_tier="TIER_250")
    await client.control("accounts", id=ACCOUNT, verified=True)
    assert (await client.call("GET", f"/{NUMBER}")).body["messaging_limit_tier"] == "TIER_1K"


async def test_a_number_that_loses_quality_loses_a_step(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    await client.control("numbers", id=NUMBER, quality_rating="RED")
    event = (await receiver.until(lambda _: receiver.changes("phone_number_quality_update")))[0]
    assert (event["event"], event["current_limit"]) == ("FLAGGED", "TIER_100K")
    body_read = (await client.call("GET", f"/{NUMBER}")).body
    assert body_read["quality_rating"] == "RED"
    assert event["display_phone_number"] == body_read["display_phone_number"]


async def test_the_throughput_is_raised_to_1000(client: Client) -> None:
    assert (await client.call("GET", f"/{OTHER_NUMBER}")).body["throughput"] == {"level": "STANDARD"}
    await client.control("numbers", id=OTHER_NUMBER, rate_per_s=1000)
    assert (await client.call("GET", f"/{OTHER_NUMBER}")).body["throughput"] == {"level": "HIGH"}


async def test_volume_and_quality_raise_the_throughput_by_themselves(
    start: Start, receiver: Receiver
) -> None:
    client = await start(callback=receiver.url, statuses=False)
    service = client.emulator.service
    await client.control("numbers", id=OTHER_NUMBER, messaging_limit_tier="TIER_1K")
    for number, tier in enumerate(("TIER_10K", "TIER_100K")):
        service.numbers[OTHER_NUMBER].tiers._most_people = 10_000
        await client.control("clock", seconds=86_400)
        assert (await client.send(template(f"551190000000{number}"), number=OTHER_NUMBER)).status == 200
        body_read = (await client.call("GET", f"/{OTHER_NUMBER}")).body
        assert body_read["messaging_limit_tier"] == tier
        assert body_read["throughput"] == {"level": "HIGH" if tier == "TIER_100K" else "STANDARD"}
    await receiver.until(
        lambda _: (
            "THROUGHPUT_UPGRADE"
            in [event["event"] for event in receiver.changes("phone_number_quality_update")]
        )
    )


async def test_200_management_calls_an_hour_for_an_app_and_an_account(client: Client) -> None:
    for _ in range(200):
        assert (await client.call("GET", TEMPLATES, params={"limit": "1"})).status == 200
    for method, path in (("GET", f"/{NUMBER}"), ("GET", PROFILE), ("POST", PROFILE)):
        assert (await client.call(method, path)).code == 80007
    answer = await client.call("GET", TEMPLATES)
    assert (answer.status, answer.code) == (400, 80007)
    usage = answer.headers["X-Business-Use-Case-Usage"]
    assert ACCOUNT in usage
    assert '"estimated_time_to_regain_access":60' in usage
    await client.control("apps", id="7", secret="s")
    await client.control("tokens", value="other-app", app="7")
    client.token = "other-app"
    assert (await client.call("GET", TEMPLATES)).status == 200
    client.token = "emulator-token"
    assert (await client.send(template())).status == 200
    await client.control("clock", seconds=3600)
    assert (await client.call("GET", TEMPLATES)).status == 200


async def test_register_takes_six_digits(client: Client) -> None:
    path = f"/{NUMBER}/register"
    await client.control("numbers", id=NUMBER, status="PENDING")
    assert (await client.send(template())).code == 133010
    for wrong in ("12345", "1234567", "12345a", 123456, None):
        answer = await client.call("POST", path, json={"messaging_product": "chat", "pin": wrong})
        assert (answer.status, answer.code) == (400, 100)
    right = {"messaging_product": "chat", "pin": "123456"}
    assert (await client.call("POST", path, json=right)).body == {"success": True}
    assert (await client.send(template())).status == 200
    assert (await client.call("POST", path, json={**right, "pin": "654321"})).code == 133005
    assert (await client.call("POST", path, json={"pin": "123456"})).code == 100


async def test_the_profile_is_updated_and_read(client: Client) -> None:
    content = {
        "messaging_product": "chat",
        "about": "Lamps",
        "address": "Rua 1",
        "description": "Everything that shines",
        "email": "a@lantern.example",
        "websites": ["https://lantern.example"],
        "vertical": "RETAIL",
        "profile_picture_handle": "4::abc",
    }
    assert (await client.call("POST", PROFILE, json=content)).body == {"success": True}
    await client.call("POST", PROFILE, json={"messaging_product": "chat", "about": "Lamps and more"})
    body_read = (await client.call("GET", PROFILE)).body["data"]
    assert body_read == [{**content, "about": "Lamps and more"}]
    part = (await client.call("GET", PROFILE, params={"fields": "about,email"})).body["data"]
    expected = {"messaging_product": "chat", "about": "Lamps and more", "email": "a@lantern.example"}
    assert part == [expected]
    for wrong in ({"about": "x" * 140}, {"websites": ["a", "b", "c"]}, {"email": 5}):
        answer = await client.call("POST", PROFILE, json={"messaging_product": "chat", **wrong})
        assert (answer.status, answer.code) == (400, 100)


async def test_analytics_count_the_ledger(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, read_ratio=0.0)
    begin_s = (await client.ask("health"))["unix_s"] // 1800 * 1800
    await client.send(template())
    await client.send(template("5511987654322"), number=OTHER_NUMBER)
    await client.control("clock", seconds=86_400)
    await client.send(template("5511987654323", name="spring_offer"))
    await receiver.until(lambda _: len(receiver.statuses()) == 6)
    window = f".start({begin_s}).end({begin_s + 2 * 86_400}).granularity(DAY)"
    fields = f"analytics{window}.phone_numbers([]),conversation_analytics{window}"
    answer = (await client.call("GET", f"/{ACCOUNT}", params={"fields": fields})).body
    points = answer["analytics"]["data_points"]
    assert [(point["sent"], point["delivered"]) for point in points] == [(2, 2), (1, 1)]
    assert answer["id"] == ACCOUNT
    talks = answer["conversation_analytics"]["data"][0]["data_points"]
    assert [(point["start"] - begin_s, point["conversation"]) for point in talks] == [(0, 2), (86_400, 1)]
    assert talks[1]["cost"] > talks[0]["cost"] / 2 > 0
    one_number = fields.replace("([])", f"([{OTHER_NUMBER}])").split(",conv", maxsplit=1)[0]
    answer = (await client.call("GET", f"/{ACCOUNT}", params={"fields": one_number})).body
    assert [point["sent"] for point in answer["analytics"]["data_points"]] == [1, 0]
    assert (await client.call("GET", f"/{ACCOUNT}", params={"fields": "analytics"})).code == 100


@pytest.mark.parametrize("granularity", ["HALF_HOUR", "DAY", "MONTH"])
async def test_analytics_of_any_seconds_count_the_same_messages(
    start: Start, receiver: Receiver, granularity: str
) -> None:
    """A client that asks from the first message on must not read that nothing was delivered."""
    client = await start(callback=receiver.url, read_ratio=0.0)
    sent_s = (await client.ask("health"))["unix_s"]
    await client.send(template())
    await receiver.until(lambda _: len(receiver.statuses()) == 2)
    fields = f"analytics.start({sent_s}).end({sent_s + 60}).granularity({granularity}).phone_numbers([])"
    answer = (await client.call("GET", f"/{ACCOUNT}", params={"fields": fields})).body["analytics"]
    assert answer["granularity"] == granularity
    points = answer["data_points"]
    assert (sum(point["sent"] for point in points), sum(point["delivered"] for point in points)) == (1, 1)
    assert points[0]["start"] <= sent_s < sent_s + 60 <= points[-1]["end"]


async def test_an_account_can_be_locked(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    await client.control("accounts", id=ACCOUNT, locked=131031, event="DISABLED_UPDATE")
    answer = await client.send(template())
    assert (answer.status, answer.code) == (403, 131031)
    event = (await receiver.until(lambda _: receiver.changes("account_update")))[0]
    assert event == {"event": "DISABLED_UPDATE"}


async def test_several_accounts_numbers_and_tokens(client: Client) -> None:
    await client.control("accounts", id="77")
    await client.control("numbers", id="7701", account="77", rate_per_s=5)
    await client.control("tokens", value="theirs", accounts=["77"])
    client.token = "theirs"
    assert (await client.send(template(), number="7701")).status == 200
    assert (await client.send(template())).code == 33
    numbers = (await client.call("GET", "/77/phone_numbers")).body["data"]
    assert [number["id"] for number in numbers] == ["7701"]
    assert (await client.call("GET", TEMPLATES)).code == 33


@pytest.mark.parametrize("days", [1, 60])
async def test_tokens_live_a_day_or_sixty_or_for_ever(client: Client, days: int) -> None:
    await client.control("tokens", value="limited", expires_in_s=days * 86_400)
    for token, code in (("limited", 190), ("emulator-token", None)):
        client.token = token
        await client.control("clock", seconds=0 if code is None else days * 86_400 - 60)
        assert (await client.send(template())).status == 200
        await client.control("clock", seconds=60)
        assert (await client.send(template())).code == code


async def test_an_app_subscribes_its_callback_after_verification(client: Client, receiver: Receiver) -> None:
    app = (await client.ask("health"))["app"]
    path = f"/{app}/subscriptions"
    content = {"object": "chat_business_account", "callback_url": receiver.url, "verify_token": "wrong"}
    assert (await client.call("POST", path, json=content)).code == 100
    assert (await client.call("GET", path)).body == {"data": []}
    content |= {"verify_token": "emulator-verify", "fields": "message_template_status_update"}
    assert (await client.call("POST", path, json=content)).body == {"success": True}
    assert receiver.challenges[-1]["hub.mode"] == "subscribe"
    listed = (await client.call("GET", path)).body["data"][0]
    assert listed["object"] == "chat_business_account"
    assert listed["callback_url"] == receiver.url
    assert [field["name"] for field in listed["fields"]] == ["message_template_status_update"]
    await client.send(template())
    await client.control("templates/order_shipped/status", status="PAUSED", language="en_US")
    await receiver.until(lambda _: receiver.changes("message_template_status_update"))
    assert receiver.statuses() == []  # only what was subscribed to
    assert (await client.call("DELETE", path)).body == {"success": True}
    assert (await client.call("GET", path)).body == {"data": []}
    for wrong in ({"callback_url": "ftp://x"}, {"fields": "gossip"}, {"verify_token": None}):
        assert (await client.call("POST", path, json={**content, **wrong})).code == 100


async def test_several_subscribers_each_with_their_own_secret(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    seen: list[str] = []

    async def other(request: web.Request) -> web.Response:
        seen.append(request.headers["X-Hub-Signature-256"])
        return web.Response()

    await client.control("apps", id="7", secret="another secret")
    await client.control("tokens", value="other-app", app="7")
    await client.send(template())
    await receiver.until(lambda _: len(receiver.statuses()) >= 2)
    client.token = "other-app"
    content = {"callback_url": receiver.url, "verify_token": "emulator-verify", "fields": "messages"}
    assert (await client.call("POST", "/7/subscriptions", json=content)).status == 200
    assert (await client.call("POST", f"/{ACCOUNT}/subscribed_apps")).body == {"success": True}
    await client.send(template("5511987654322"))
    await receiver.until(lambda _: receiver.wrong_signatures >= 1 and len(receiver.statuses()) >= 4)
    await client.control("templates/winter_sale/status", status="DISABLED")
    await client.settled()
    assert len(receiver.changes("message_template_status_update")) == 1  # the first app's alone
    apps = (await client.call("GET", f"/{ACCOUNT}/subscribed_apps")).body["data"]
    assert [app["chat_business_api_data"]["id"] for app in apps][1:] == ["7"]
    assert (await client.call("DELETE", f"/{ACCOUNT}/subscribed_apps")).body == {"success": True}
    wrong_signatures = receiver.wrong_signatures
    await client.send(template("5511987654323"))
    await receiver.until(lambda _: len(receiver.statuses()) >= 8)
    await client.settled()
    assert receiver.wrong_signatures == wrong_signatures  # who left hears no more


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("image", None),
        ("audio", None),
        ("interactive", {"type": "button_reply", "button_reply": {"id": "yes", "title": "Yes"}}),
        ("button", {"text": "Show me", "payload": "show"}),
        ("location", {"latitude": 1.5, "longitude": 2.5}),
        ("reaction", {"message_id": "wamid.x", "emoji": "👍"}),
        ("contacts", [{"name": {"formatted_name": "Rui"}}]),
    ],
)
async def test_customers_write_in_every_type(
    start: Start, receiver: Receiver, kind: str, content: Any
) -> None:
    client = await start(callback=receiver.url)
    rest = {} if content is None else {kind: content}
    await client.control("incoming", phone_number_id=NUMBER, type=kind, **rest, **{"from": ANA})
    message = (await receiver.until(lambda _: receiver.messages()))[0]
    assert message["type"] == kind
    if content is not None:
        assert message[kind] == content
        return
    known = (await client.call("GET", f"/{message[kind]['id']}")).body
    assert known["sha256"] == message[kind]["sha256"]


async def test_a_customer_reads_late(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, read_ratio=0.0)
    wamid = (await client.send(template())).wamid
    await receiver.until(lambda _: len(receiver.statuses(wamid)) == 2)
    await client.control("reads", id=wamid)
    await receiver.until(lambda _: "read" in [status["status"] for status in receiver.statuses(wamid)])


async def test_the_network_may_spell_a_number_otherwise(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    await client.control("recipients", to=ANA, wa_id="551187654321")
    answer = await client.send(template())
    assert answer.body["contacts"] == [{"input": ANA, "wa_id": "551187654321"}]
    statuses = await receiver.until(lambda _: receiver.statuses(answer.wamid))
    assert statuses[0]["recipient_id"] == "551187654321"


async def test_the_products_word_is_one_setting(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, product="talk")
    assert (await client.send(template())).code == 100
    answer = await client.send(template(messaging_product="talk"))
    assert answer.body["messaging_product"] == "talk"
    await receiver.until(lambda _: receiver.posts)
    assert receiver.posts[0]["object"] == "talk_business_account"
    assert receiver.changes()[0]["messaging_product"] == "talk"
    assert (await client.call("GET", f"/{NUMBER}/talk_business_profile")).status == 200
