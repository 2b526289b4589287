"""What clients by others rely on: entries have a time, filters that are not served are refused, and so on."""

from typing import Any

import pytest

from tests.emulator.conftest import ACCOUNT, ANA, NUMBER, OTHER_NUMBER, Client, Receiver, Start, template
from tests.emulator.test_media import fetch, upload
from tests.emulator.test_templates import BODY, reviewed

APP = "634974688087057"
NAMES = {"type": "BODY", "text": "Hi {{name}}, {{day}}"}
HEADER = {"type": "HEADER", "format": "TEXT", "text": "For {{name}}"}


def named(member: str, **examples: str) -> dict[str, Any]:
    given = [{"param_name": name, "example": example} for name, example in examples.items()]
    return {"example": {f"{member}_named_params": given}}


def button_with(example: Any) -> dict[str, Any]:
    link = {"type": "URL", "text": "See", "url": "https://x.example/{{1}}", "example": example}
    return {"type": "BUTTONS", "buttons": [link]}


@pytest.mark.parametrize(
    ("components", "parameter_format", "status"),
    [
        ([{**NAMES, **named("body_text", day="Monday", name="Ana")}], "NAMED", "APPROVED"),
        ([{**NAMES, **named("body_text", day="Monday", nome="Ana")}], "NAMED", "REJECTED"),
        ([{**NAMES, **named("body_text", day="Monday", name=" ")}], "NAMED", "REJECTED"),
        ([{**NAMES, **named("body_text", day="Monday", name="Ana", hour="10")}], "NAMED", "REJECTED"),
        ([{**NAMES, "example": {"body_text": [["Ana", "Monday"]]}}], "NAMED", "REJECTED"),
        ([BODY, {**HEADER, **named("header_text", name="Ana")}], "NAMED", "APPROVED"),
        ([BODY, {**HEADER, **named("header_text", first_name="Ana")}], "NAMED", "REJECTED"),
        (
            [{"type": "BODY", "text": "Hi {{1}}", "example": {"body_text": [["\t"]]}}],
            "POSITIONAL",
            "REJECTED",
        ),
        ([BODY, button_with(["https://x.example/a"])], "POSITIONAL", "APPROVED"),
        ([BODY, button_with("https://x.example/a")], "POSITIONAL", "APPROVED"),
        ([BODY, button_with([" "])], "POSITIONAL", "REJECTED"),
    ],
)
async def test_examples_are_matched_by_name_and_a_blank_is_none(
    client: Client, components: list[dict[str, Any]], parameter_format: str, status: str
) -> None:
    assert await reviewed(client, *components, parameter_format=parameter_format) == status


async def _delivered(client: Client, number: str = "") -> int:
    fields = f"analytics.start(0).end(1893456000).granularity(MONTH).phone_numbers([{number}])"
    answer = (await client.call("GET", f"/{ACCOUNT}", params={"fields": fields})).body
    return sum(point["delivered"] for point in answer["analytics"]["data_points"])


async def test_analytics_count_deliveries_that_nobody_subscribed_to(start: Start, receiver: Receiver) -> None:
    client = await start(read_ratio=0.0)
    await client.send(template())
    await client.send(template("5511987654322"), number=OTHER_NUMBER)
    await client.control("recipients", to="5511987654323", fails_with=131026)
    await client.send(template("5511987654323"))
    await client.control("faults", kind="failed-status", count=1)
    await client.send(template("5511987654324"))
    assert (await _delivered(client), await _delivered(client, OTHER_NUMBER)) == (2, 1)
    await client.control("recipients", to=ANA, fails_with=131026)
    assert await _delivered(client) == 2, "what was counted stays"
    await client.control("callback", url=receiver.url)
    wamid = (await client.send(template("5511987654325"))).wamid
    await receiver.until(lambda _: len(receiver.statuses(wamid)) == 2)
    assert await _delivered(client) == 3
    await client.control("statuses", on=False)
    await client.send(template("5511987654326"))
    await client.control("statuses", on=True)
    await client.control("restore", **await client.ask("snapshot"))
    assert await _delivered(client) == 4


async def test_a_delivery_without_a_subscriber_counts_when_its_time_has_come(client: Client) -> None:
    client.emulator.service.schedule._delay_ns = [10**10] * 4
    await client.send(template())
    assert await _delivered(client) == 0
    await client.control("restore", **await client.ask("snapshot"))
    await client.control("clock", seconds=3600)
    assert await _delivered(client) == 1


async def test_a_download_address_lives_its_whole_five_minutes(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    media_id, clock = (await upload(client, b"x")).body["id"], client.emulator.service.clock
    now_ns = (clock.now_ns() // 10**9 + 1) * 10**9 + 999_000_000
    monkeypatch.setattr(clock, "now_ns", lambda: now_ns)
    url = (await client.call("GET", f"/{media_id}")).body["url"]
    now_ns += 299_999_999_999
    assert (await fetch(client, url))[0] == 200
    now_ns += 1
    assert (await fetch(client, url))[0] == 404


@pytest.mark.parametrize(
    ("path", "query"),
    [
        ("message_templates", {"stauts": "APPROVED"}),
        ("message_templates", {"status": "BLUE"}),
        ("message_templates", {"category": "FUN,UTILITY"}),
        ("message_templates", {"quality_score": "GREEN"}),
        ("phone_numbers", {"status": "CONNECTED"}),
        ("", {"fields": "analytics.start(0).end(86400).granularity(DAY).country_codes([US])"}),
        ("", {"fields": "analytics.start(0).end(86400).granularity(DAY).phone_numbers([15559999999])"}),
        (
            "",
            {"fields": "conversation_analytics.start(0).end(86400).granularity(DAILY).dimensions([COUNTRY])"},
        ),
        ("", {"fields": "analytics.start(0).end(86400).granularity(DAY).dimensions([COUNTRY])"}),
    ],
)
async def test_an_unknown_filter_or_dimension_is_refused(
    client: Client, path: str, query: dict[str, str]
) -> None:
    answer = await client.call("GET", f"/{ACCOUNT}/{path}".rstrip("/"), params=query)
    assert (answer.status, answer.code) == (400, 100)


async def test_the_dimension_of_categories_is_served(client: Client) -> None:
    now_s = (await client.ask("health"))["unix_s"]
    await client.send(template())
    fields = (
        f"conversation_analytics.start({now_s - 60}).end({now_s + 60}).granularity(DAILY)"
        '.dimensions(["CONVERSATION_CATEGORY"])'
    )
    answer = (await client.call("GET", f"/{ACCOUNT}", params={"fields": fields})).body
    (point,) = answer["conversation_analytics"]["data"][0]["data_points"]
    assert (point["conversation"], point["conversation_category"]) == (1, "UTILITY")


async def test_an_entry_has_its_time(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    before_s = (await client.ask("health"))["unix_s"]
    await client.control("incoming", phone_number_id=NUMBER, **{"from": ANA})
    await receiver.until(lambda _: receiver.messages())
    (entry,) = receiver.posts[0]["entry"]
    assert before_s <= entry["time"] <= (await client.ask("health"))["unix_s"]


async def test_a_subscription_to_another_object_is_refused(client: Client, receiver: Receiver) -> None:
    content = {"object": "page", "callback_url": receiver.url, "verify_token": "emulator-verify"}
    refused = await client.call("POST", f"/{APP}/subscriptions", json=content)
    assert (refused.status, refused.code, receiver.challenges) == (400, 100, [])
    assert "chat_business_account" in refused.body["error"]["error_data"]["details"]
    content["object"] = "chat_business_account"
    assert (await client.call("POST", f"/{APP}/subscriptions", json=content)).status == 200
    other = {"object": "page"}
    assert (await client.call("DELETE", f"/{APP}/subscriptions", params=other)).code == 100
    assert len((await client.call("GET", f"/{APP}/subscriptions")).body["data"]) == 1


@pytest.mark.parametrize(("mime_type", "words"), [("image", "not 'image'"), ("", "is required")])
async def test_an_upload_whose_type_is_none_is_told_what_is_wrong(
    client: Client, mime_type: str, words: str
) -> None:
    refused = await upload(client, b"x", mime_type)
    assert (refused.status, refused.code) == (400, 100)
    assert words in refused.body["error"]["error_data"]["details"]
    assert "image/jpeg" in refused.body["error"]["error_data"]["details"]
