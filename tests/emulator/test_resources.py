"""Templates and phone numbers: lists in pages, filters, fields, creation and deletion."""

from typing import Any

import pytest

from tests.emulator.conftest import ACCOUNT, NUMBER, OTHER_NUMBER, Client, template

PATH = f"/{ACCOUNT}/message_templates"
NEW: dict[str, Any] = {
    "name": "summer_news",
    "category": "MARKETING",
    "language": "en_US",
    "components": [
        {"type": "BODY", "text": "Hi {{1}}, news: {{2}}", "example": {"body_text": [["Ana", "shoes"]]}},
        {"type": "FOOTER", "text": "Reply STOP"},
    ],
}


async def test_a_list_comes_in_pages_both_ways(client: Client) -> None:
    every = (await client.call("GET", PATH, params={"limit": "100"})).body["data"]
    assert len(every) >= 8
    seen, page = list[Any](), (await client.call("GET", PATH, params={"limit": "3"})).body
    assert "previous" not in page["paging"]
    while True:
        seen += page["data"]
        following = page["paging"].get("next")
        if following is None:
            break
        assert following.startswith(client.emulator.url)
        after = page["paging"]["cursors"]["after"]
        page = (await client.call("GET", PATH, params={"limit": "3", "after": after})).body
    assert seen == every
    before = {"limit": "3", "before": page["paging"]["cursors"]["before"]}
    back = (await client.call("GET", PATH, params=before)).body["data"]
    first_of_last = every.index(page["data"][0])
    assert back == every[first_of_last - 3 : first_of_last]


async def test_filters_and_fields(client: Client) -> None:
    paused = await client.call("GET", PATH, params={"status": "PAUSED", "fields": "name,status"})
    assert [each["name"] for each in paused.body["data"]] == ["winter_sale"]
    assert set(paused.body["data"][0]) == {"id", "name", "status"}
    named = await client.call("GET", PATH, params={"name": "order_shipped", "language": "pt_BR"})
    assert [each["language"] for each in named.body["data"]] == ["pt_BR"]
    utility = await client.call("GET", PATH, params={"category": "UTILITY", "limit": "1000"})
    assert {each["category"] for each in utility.body["data"]} == {"UTILITY"}


@pytest.mark.parametrize("query", [{"limit": "0"}, {"limit": "x"}, {"after": "!!"}, {"before": "bm9uZQ=="}])
async def test_a_wrong_page_is_error_100(client: Client, query: dict[str, str]) -> None:
    answer = await client.call("GET", PATH, params=query)
    assert (answer.status, answer.code) == (400, 100)


async def test_a_template_is_created_reviewed_used_and_deleted(client: Client) -> None:
    created = await client.call("POST", PATH, json=NEW)
    assert created.body == {"id": created.body["id"], "status": "PENDING", "category": "MARKETING"}
    message = template(name="summer_news")
    assert (await client.send(message)).code == 132001
    await client.control("templates/summer_news/status", status="APPROVED")
    assert (await client.send(message)).status == 200
    deleted = await client.call("DELETE", PATH, params={"name": "summer_news"})
    assert deleted.body == {"success": True}
    assert (await client.send(message)).code == 132001
    assert (await client.call("DELETE", PATH, params={"name": "summer_news"})).code == 132001
    assert (await client.call("DELETE", PATH)).code == 100


async def test_name_and_language_are_the_key(client: Client) -> None:
    assert (await client.call("POST", PATH, json=NEW)).status == 200
    assert (await client.call("POST", PATH, json=NEW)).code == 100
    assert (await client.call("POST", PATH, json={**NEW, "language": "en"})).status == 200


@pytest.mark.parametrize(
    "change",
    [
        {"name": "Summer"},
        {"name": "summer news"},
        {"name": ""},
        {"name": 5},
        {"category": "FUN"},
        {"category": None},
        {"language": "english"},
        {"components": []},
        {"components": [{"type": "FOOTER", "text": "no body"}]},
        {"components": [{"type": "BODY", "text": ""}]},
        {"components": [{"type": "BODY", "text": "x"}, {"type": "BODY", "text": "y"}]},
        {"components": [{"type": "BODY", "text": "x"}, {"type": "HEADER", "format": "SMELL"}]},
        {"components": [{"type": "BODY", "text": "x"}, {"type": "BUTTONS", "buttons": []}]},
        {"components": ["BODY"]},
        {"parameter_format": "ANY"},
    ],
)
async def test_a_template_that_cannot_be_is_error_100(client: Client, change: dict[str, Any]) -> None:
    answer = await client.call("POST", PATH, json={**NEW, **change})
    assert (answer.status, answer.code) == (400, 100)


async def test_phone_numbers_carry_quality_limit_and_throughput(client: Client) -> None:
    listed = await client.call("GET", f"/{ACCOUNT}/phone_numbers")
    assert [each["id"] for each in listed.body["data"]] == [NUMBER, OTHER_NUMBER]
    fast, slow = listed.body["data"]
    assert fast["throughput"] == {"level": "HIGH"}
    assert slow["throughput"] == {"level": "STANDARD"}
    assert fast["quality_rating"] == "GREEN"
    assert fast["messaging_limit_tier"] == "TIER_UNLIMITED"
    assert fast["display_phone_number"].isdigit()
    assert fast["verified_name"]
    partial = await client.call("GET", f"/{NUMBER}", params={"fields": "quality_rating"})
    assert partial.body == {"id": NUMBER, "quality_rating": "GREEN"}


async def test_named_parameters_headers_and_buttons(client: Client) -> None:
    message = template(name="appointment_reminder")
    values = {"first_name": "Ana", "day": "Monday", "time": "10:30"}
    named = [{"type": "text", "parameter_name": key, "text": value} for key, value in values.items()]
    message["template"]["components"] = [{"type": "body", "parameters": named}]
    assert (await client.send(message)).status == 200
    named[0]["parameter_name"] = "name"
    assert (await client.send(message)).code == 132012
    message = template(name="catalogue")
    body = {"type": "body", "parameters": [{"type": "text", "text": "Ana"}]}
    header = {
        "type": "header",
        "parameters": [{"type": "image", "image": {"link": "https://x.example/a.jpg"}}],
    }
    button = {
        "type": "button",
        "sub_type": "url",
        "index": "0",
        "parameters": [{"type": "text", "text": "2f9"}],
    }
    message["template"]["components"] = [header, body, button]
    assert (await client.send(message)).status == 200
    (row,) = (await client.ask("ledger?after=1"))["messages"]
    assert (row["parameters"], row["components"]) == (["Ana"], [header, button])
    for missing in (header, body, button):
        message["template"]["components"] = [each for each in (header, body, button) if each is not missing]
        assert (await client.send(message)).code == 132012
    message["template"]["components"] = [header, body, {**button, "index": "1"}]
    assert (await client.send(message)).code == 132012
