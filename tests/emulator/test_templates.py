"""Templates: what a review rejects, which components and buttons there are, and how a send fills them."""

from typing import Any

import pytest

from tests.emulator.conftest import ACCOUNT, Client, template

PATH = f"/{ACCOUNT}/message_templates"
BODY = {"type": "BODY", "text": "Hi there"}


async def create(client: Client, *components: dict[str, Any], **change: Any) -> Any:
    content = {"name": "fresh", "category": "UTILITY", "language": "en_US", "components": list(components)}
    return await client.call("POST", PATH, json={**content, **change})


async def reviewed(client: Client, *components: dict[str, Any], **change: Any) -> str:
    """The status after the review. Setting the clock answers only after the review has run."""
    assert (await create(client, *components, **change)).status == 200
    await client.control("clock", seconds=60)
    listed = await client.call("GET", PATH, params={"name": "fresh", "fields": "status"})
    return str(listed.body["data"][0]["status"])


def body(text: str, example: Any = None) -> dict[str, Any]:
    return {"type": "BODY", "text": text, **({} if example is None else {"example": {"body_text": example}})}


@pytest.mark.parametrize(
    ("components", "change", "status"),
    [
        ([body("Hi {{1}}, {{2}}", [["Ana", "A-1"]])], {}, "APPROVED"),
        (
            [body("Hi {{1}}, {{2}}", ["Ana", "A-1"])],
            {},
            "REJECTED",
        ),  # one row in an array of rows is asked for
        ([body("Hi {{1}}, {{3}}", [["Ana", "A-1"]])], {}, "REJECTED"),  # a gap
        ([body("Hi {{name}}", [["Ana"]])], {}, "REJECTED"),  # a name in a template of positions
        ([body("Hi {{1}}", [["Ana"]])], {"parameter_format": "NAMED"}, "REJECTED"),
        ([BODY, {"type": "FOOTER", "text": "Bye {{1}}"}], {}, "REJECTED"),
        ([BODY, {"type": "HEADER", "format": "LOCATION"}], {}, "APPROVED"),
        ([BODY, {"type": "HEADER", "format": "TEXT", "text": "For {{1}}"}], {}, "REJECTED"),
        (
            [
                BODY,
                {
                    "type": "HEADER",
                    "format": "TEXT",
                    "text": "For {{1}}",
                    "example": {"header_text": ["Ana"]},
                },
            ],
            {},
            "APPROVED",
        ),
    ],
)
async def test_a_review_asks_for_an_example_of_every_variable(
    client: Client, components: list[dict[str, Any]], change: dict[str, Any], status: str
) -> None:
    assert await reviewed(client, *components, **change) == status


async def test_types_and_formats_come_in_any_case(client: Client) -> None:
    buttons = [{"type": "quick_reply", "text": "Yes"}]
    created = await create(
        client,
        {"type": "body", "text": "Hi there"},
        {"type": "header", "format": "location"},
        {"type": "Buttons", "buttons": buttons},
    )
    shown = (await client.call("GET", f"/{created.body['id']}")).body
    assert [component["type"] for component in shown["components"]] == ["BODY", "HEADER", "BUTTONS"]
    assert shown["components"][1]["format"] == "LOCATION"
    assert shown["components"][2]["buttons"][0]["type"] == "QUICK_REPLY"


@pytest.mark.parametrize(
    "button",
    [
        {"type": "DANCE", "text": "Dance"},
        {"type": 5, "text": "x"},
        {"text": "no type"},
        {"type": "URL", "text": "no url"},
        {"type": "PHONE_NUMBER", "text": "no number"},
        {"type": "COPY_CODE"},
        {"type": "OTP", "text": "no kind of copy"},
        {"type": "QUICK_REPLY"},
        "QUICK_REPLY",
    ],
)
async def test_a_button_of_an_unknown_type_or_without_its_members_is_refused(
    client: Client, button: Any
) -> None:
    answer = await create(client, BODY, {"type": "BUTTONS", "buttons": [button]})
    assert (answer.status, answer.code) == (400, 100)


def button(index: int, sub_type: str, **parameter: Any) -> dict[str, Any]:
    return {"type": "button", "sub_type": sub_type, "index": str(index), "parameters": [parameter]}


async def test_every_button_is_filled_on_send(client: Client) -> None:
    buttons = [
        {"type": "COPY_CODE", "example": "SPRING"},
        {"type": "FLOW", "text": "Book", "flow_id": "7"},
        {"type": "CATALOG", "text": "See all"},
        {"type": "PHONE_NUMBER", "text": "Call", "phone_number": "+5511999999999"},
    ]
    assert await reviewed(client, BODY, {"type": "BUTTONS", "buttons": buttons}) == "APPROVED"
    code = button(0, "copy_code", type="coupon_code", coupon_code="SPRING24")
    flow = button(1, "FLOW", type="action", action={"flow_token": "t-1"})
    catalogue = button(2, "catalog", type="action", action={"thumbnail_product_retailer_id": "p-1"})

    async def sent(*components: dict[str, Any]) -> int | None:
        message = template(name="fresh")
        message["template"]["components"] = list(components)
        return (await client.send(message)).code

    assert await sent(code, flow, catalogue) is None
    assert await sent(code) is None  # a flow and a catalogue need no parameter
    assert await sent(flow) == 132012  # the code has none
    assert await sent(code, button(1, "flow", type="action", action={})) == 132012
    assert await sent(button(0, "copy_code", type="text", text="SPRING24")) == 132012
    assert await sent(code, button(3, "phone_number", type="text", text="x")) == 132012


async def test_the_button_of_a_one_time_code_is_filled_like_a_link(client: Client) -> None:
    otp = {"type": "OTP", "otp_type": "COPY_CODE", "text": "Copy code"}
    code = {"type": "BODY", "add_security_recommendation": False}
    buttons = {"type": "BUTTONS", "buttons": [otp]}
    assert await reviewed(client, code, buttons, category="AUTHENTICATION") == "APPROVED"
    message = template("5511987654321", "123456", name="fresh")
    assert (await client.send(message)).code == 132012
    message["template"]["components"].append(button(0, "url", type="text", text="123456"))
    assert (await client.send(message)).status == 200


async def test_a_location_header_takes_a_place(client: Client) -> None:
    await reviewed(client, BODY, {"type": "HEADER", "format": "LOCATION"})

    async def sent(place: Any) -> int | None:
        message = template(name="fresh")
        parameters = [{"type": "location", "location": place}]
        message["template"]["components"] = [{"type": "header", "parameters": parameters}]
        return (await client.send(message)).code

    assert await sent({"latitude": -23.5, "longitude": -46.6, "name": "Shop", "address": "Rua 1"}) is None
    assert await sent({"latitude": -230, "longitude": 0}) == 131009
    assert await sent("here") == 132012


async def test_named_parameters_do_not_fill_a_template_of_positions(client: Client) -> None:
    message = template()
    for number, parameter in enumerate(message["template"]["components"][0]["parameters"]):
        parameter["parameter_name"] = f"p{number}"
    assert (await client.send(message)).code == 132012


@pytest.mark.parametrize("recommends", [True, False])
async def test_the_service_writes_the_body_of_an_authentication_template(
    client: Client, recommends: bool
) -> None:
    code = {"type": "BODY", "add_security_recommendation": recommends}
    assert await reviewed(client, code, category="AUTHENTICATION") == "APPROVED"
    assert (await client.send(template("5511987654321", "123456", name="fresh"))).status == 200
    listed = await client.call("GET", PATH, params={"name": "fresh"})
    assert ("do not share" in listed.body["data"][0]["components"][0]["text"]) is recommends
    assert (await create(client, code, name="other")).code == 100  # of another category
    wrong = {"type": "BODY", "add_security_recommendation": "yes"}
    assert (await create(client, wrong, name="other", category="AUTHENTICATION")).code == 100


async def test_the_service_writes_how_long_a_code_is_valid(client: Client) -> None:
    code, footer = {"type": "BODY"}, {"type": "FOOTER", "code_expiration_minutes": 10}
    assert await reviewed(client, code, footer, category="AUTHENTICATION") == "APPROVED"
    listed = await client.call("GET", PATH, params={"name": "fresh"})
    shown = listed.body["data"][0]["components"][1]
    assert shown == {**footer, "text": "This code expires in 10 minutes."}
    for wrong in (0, 91, "10", True, None):
        footer = {"type": "FOOTER", "code_expiration_minutes": wrong}
        assert (await create(client, code, footer, name="other", category="AUTHENTICATION")).code == 100


async def test_one_language_is_deleted_by_its_id(client: Client) -> None:
    listed = (await client.call("GET", PATH, params={"name": "order_shipped"})).body["data"]
    ids = {each["language"]: each["id"] for each in listed}
    assert set(ids) == {"en_US", "pt_BR"}
    wrong = {"name": "spring_offer", "hsm_id": ids["pt_BR"]}
    assert (await client.call("DELETE", PATH, params=wrong)).code == 132001
    right = {"name": "order_shipped", "hsm_id": ids["pt_BR"]}
    assert (await client.call("DELETE", PATH, params=right)).body == {"success": True}
    left = (await client.call("GET", PATH, params={"name": "order_shipped"})).body["data"]
    assert [each["language"] for each in left] == ["en_US"]


@pytest.mark.parametrize("wanted", ["PAUSED,REJECTED", '["PAUSED","REJECTED"]', '["PAUSED", "REJECTED"]'])
async def test_a_filter_takes_several_values(client: Client, wanted: str) -> None:
    listed = await client.call("GET", PATH, params={"status": wanted, "limit": "1000"})
    assert {each["name"] for each in listed.body["data"]} == {"winter_sale", "flash_prize"}
    assert (await client.call("GET", PATH, params={"status": "[PAUSED"})).code == 100


async def test_a_template_is_read_by_its_id(client: Client) -> None:
    listed = (await client.call("GET", PATH, params={"limit": "1"})).body["data"][0]
    assert (await client.call("GET", f"/{listed['id']}")).body == listed
    part = (await client.call("GET", f"/{listed['id']}", params={"fields": "name,status"})).body
    assert part == {name: listed[name] for name in ("id", "name", "status")}
    await client.control("tokens", value="messages", permissions=["messaging"])
    client.token = "messages"
    assert (await client.call("GET", f"/{listed['id']}")).code == 10
