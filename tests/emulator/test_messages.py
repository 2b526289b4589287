"""Every message type: what is accepted and refused inside and outside the window of 24 hours."""

from typing import Any

import pytest

from tests.emulator.conftest import ANA, NUMBER, Client, free_form, template

LINK = "https://lantern.example/a"


def buttons(count: int) -> list[dict[str, Any]]:
    return [
        {"type": "reply", "reply": {"id": f"b{number}", "title": f"B{number}"}} for number in range(count)
    ]


def rows(count: int, prefix: str = "r") -> list[dict[str, Any]]:
    return [
        {"id": f"{prefix}{number}", "title": f"Row {number}", "description": "d"} for number in range(count)
    ]


def interactive(kind: str, action: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"type": kind, "body": {"text": "Choose"}, "action": action, **rest}


FLOW: dict[str, Any] = {
    "name": "flow",
    "parameters": {"flow_message_version": "3", "flow_id": "1", "flow_cta": "Open", "flow_token": "t"},
}
FLOW_BY_BOTH = {**FLOW["parameters"], "flow_name": "booking"}
FLOW_BY_NAME = {"name": "flow", "parameters": {k: v for k, v in FLOW_BY_BOTH.items() if k != "flow_id"}}
URL_BUTTON = {"name": "cta_url", "parameters": {"display_text": "Open", "url": LINK}}
CARD = {"name": {"formatted_name": "Ana Souza"}, "phones": [{"phone": "+5511987654321", "type": "CELL"}]}

ACCEPTED: list[tuple[str, Any]] = [
    ("text", {"body": "Hello", "preview_url": True}),
    ("image", {"link": LINK, "caption": "A lamp"}),
    ("video", {"link": LINK, "caption": "A film"}),
    ("audio", {"link": LINK, "caption": "ignored"}),
    ("document", {"link": LINK, "filename": "bill.pdf", "caption": "The bill"}),
    ("sticker", {"link": LINK, "caption": "ignored"}),
    ("reaction", {"message_id": "wamid.x", "emoji": "👍"}),
    ("reaction", {"message_id": "wamid.x", "emoji": ""}),
    ("location", {"latitude": -23.55, "longitude": "-46.63", "name": "Shop", "address": "Rua 1"}),
    ("contacts", [CARD, CARD]),
    ("interactive", interactive("button", {"buttons": buttons(3)}, footer={"text": "F"})),
    ("interactive", interactive("list", {"button": "Show", "sections": [{"rows": rows(10)}]})),
    ("interactive", interactive("cta_url", URL_BUTTON, header={"type": "image", "image": {"link": LINK}})),
    ("interactive", interactive("flow", FLOW, header={"type": "text", "text": "Title"})),
    ("interactive", interactive("flow", FLOW_BY_NAME)),
]


@pytest.mark.parametrize(("kind", "content"), ACCEPTED)
async def test_each_type_is_accepted_in_the_window_and_only_there(
    client: Client, kind: str, content: Any
) -> None:
    message = free_form(kind, content, context={"message_id": "wamid.before"})
    assert (await client.send(message)).code == 131047
    await client.control("incoming", phone_number_id=NUMBER, **{"from": ANA})
    answer = await client.send(message)
    assert answer.status == 200
    assert answer.body["contacts"] == [{"input": ANA, "wa_id": ANA}]
    assert (await client.ask("ledger"))["messages"][0]["content"] == content


REFUSED: list[tuple[str, Any, int]] = [
    ("text", None, 131008),
    ("text", "Hello", 131009),
    ("text", {}, 131008),
    ("text", {"body": ""}, 131009),
    ("text", {"body": "x" * 4097}, 131009),
    ("text", {"body": "x", "preview_url": "yes"}, 131009),
    ("image", {}, 131008),
    ("image", {"link": "http://lantern.example/a"}, 100),
    ("image", {"link": LINK, "id": "1"}, 131008),
    ("image", {"id": "4711"}, 131009),
    ("image", {"id": 4711}, 131009),
    ("image", {"link": LINK, "caption": "x" * 1025}, 131009),
    ("reaction", {"emoji": "👍"}, 131008),
    ("reaction", {"message_id": "wamid.x", "emoji": "good"}, 131009),
    ("location", {"latitude": 1}, 131008),
    ("location", {"latitude": 91, "longitude": 0}, 131009),
    ("location", {"latitude": "north", "longitude": 0}, 131009),
    ("location", {"latitude": True, "longitude": 0}, 131009),
    ("contacts", [], 131009),
    ("contacts", [{"name": {}}], 131008),
    ("contacts", ["Ana"], 131009),
    ("interactive", {}, 131008),
    ("interactive", interactive("poll", {}), 131009),
    ("interactive", {"type": "button", "action": {"buttons": buttons(1)}}, 131008),
    ("interactive", interactive("button", {}), 131008),
    ("interactive", interactive("button", {"buttons": []}), 131009),
    ("interactive", interactive("button", {"buttons": buttons(4)}), 131009),
    ("interactive", interactive("button", {"buttons": buttons(1) * 2}), 131009),
    ("interactive", interactive("button", {"buttons": [{"type": "url"}]}), 131009),
    ("interactive", interactive("list", {"sections": [{"rows": rows(1)}]}), 131008),
    ("interactive", interactive("list", {"button": "Show", "sections": [{"rows": rows(11)}]}), 131009),
    (
        "interactive",
        interactive(
            "list",
            {
                "button": "Show",
                "sections": [{"title": "A", "rows": rows(6)}, {"title": "B", "rows": rows(5, "s")}],
            },
        ),
        131009,
    ),
    ("interactive", interactive("cta_url", {"name": "cta_url"}), 131008),
    ("interactive", interactive("cta_url", {**URL_BUTTON, "name": "url"}), 131009),
    ("interactive", interactive("flow", {"name": "flow", "parameters": {}}), 131008),
    ("interactive", interactive("flow", {"name": "flow", "parameters": FLOW_BY_BOTH}), 131009),
    ("interactive", interactive("button", {"buttons": buttons(1)}, header={"type": "audio"}), 131009),
]


@pytest.mark.parametrize(("kind", "content", "code"), REFUSED)
async def test_each_type_has_its_rules(client: Client, kind: str, content: Any, code: int) -> None:
    await client.control("incoming", phone_number_id=NUMBER, **{"from": ANA})
    answer = await client.send(free_form(kind, content))
    assert (answer.status, answer.code) == (400, code)
    assert (await client.ask("ledger"))["messages"] == []


async def test_a_reply_names_the_message_it_is_to(client: Client) -> None:
    await client.control("incoming", phone_number_id=NUMBER, **{"from": ANA})
    text = free_form("text", {"body": "Yes"})
    assert (await client.send({**text, "context": {"message_id": "wamid.x"}})).status == 200
    for wrong in ("wamid.x", {}, {"message_id": 5}):
        for message in (text, template()):
            answer = await client.send({**message, "context": wrong})
            assert (answer.status, answer.code) == (400, 131009)


async def test_content_too_deep_to_be_kept_is_refused_and_counts_nothing(client: Client) -> None:
    await client.control("incoming", phone_number_id=NUMBER, **{"from": ANA})
    nested: dict[str, Any] = {}
    for _ in range(300):
        nested = {"deeper": nested}
    for _ in range(46):
        answer = await client.send(free_form("text", {"body": "Hello", "more": nested}))
        assert (answer.status, answer.code) == (400, 100)
    assert (await client.send(free_form("text", {"body": "Hello"}))).status == 200
    assert (await client.ask("ledger/summary"))["accepted"] == 1
