"""The longest texts of templates: refused as they are created, and as a send fills them."""

from typing import Any

import pytest

from tests.emulator.conftest import Client, template
from tests.emulator.test_templates import BODY, body, button, create, reviewed

HEADER = {
    "type": "HEADER",
    "format": "TEXT",
    "text": "For {{1}}: {{1}}",
    "example": {"header_text": ["Ana"]},
}
LINK = {"type": "URL", "text": "See", "url": "https://x.example/{{1}}", "example": ["https://x.example/a"]}
COUPON = {"type": "COPY_CODE", "example": "SPRING"}


def text(value: str) -> dict[str, Any]:
    return {"type": "text", "text": value}


def part(kind: str, *values: str) -> dict[str, Any]:
    return {"type": kind, "parameters": [text(value) for value in values]}


@pytest.mark.parametrize(
    ("components", "filled", "longest"),
    [
        ([body("Hi {{1}}, {{2}}.", [["Ana", "A-1"]])], lambda value: [part("body", value, "four")], 1014),
        ([body("{{1}} and {{1}}.", [["Ana"]])], lambda value: [part("body", value)], 509),
        ([body("Hi {{1}}.", [["Ana"]])], lambda value: [part("body", value)], 1020),
        ([BODY, HEADER], lambda value: [part("header", value)], 27),
        (
            [BODY, {"type": "BUTTONS", "buttons": [LINK]}],
            lambda value: [button(0, "url", **text(value))],
            1982,
        ),
        (
            [BODY, {"type": "BUTTONS", "buttons": [COUPON]}],
            lambda value: [button(0, "copy_code", type="coupon_code", coupon_code=value)],
            15,
        ),
    ],
    ids=["body", "placeholder-twice", "one-value", "header", "url", "coupon"],
)
async def test_132005_when_the_filled_text_is_too_long(
    client: Client, components: list[dict[str, Any]], filled: Any, longest: int
) -> None:
    assert await reviewed(client, *components) == "APPROVED"
    answers = []
    for length in (longest, longest + 1):
        message = template(name="fresh")
        message["template"]["components"] = filled("ã" * length)
        answers.append((await client.send(message)).code)
    assert answers == [None, 132005]


async def test_named_values_count_by_their_name(client: Client) -> None:
    twice = {
        "type": "BODY",
        "text": "{{day}}{{day}}{{name}}",
        "example": {
            "body_text_named_params": [
                {"param_name": "day", "example": "Monday"},
                {"param_name": "name", "example": "Ana"},
            ]
        },
    }
    assert await reviewed(client, twice, parameter_format="NAMED") == "APPROVED"
    answers = []
    for day, name in ((12, 1000), (13, 1000), (500, 24)):
        message = template(name="fresh")
        parameters = [
            {**text("n" * name), "parameter_name": "name"},
            {**text("d" * day), "parameter_name": "day"},
        ]
        message["template"]["components"] = [{"type": "body", "parameters": parameters}]
        answers.append((await client.send(message)).code)
    assert answers == [None, 132005, None]
    kept = (await client.ask("ledger"))["messages"]
    assert [[len(value) for value in each["parameters"]] for each in kept] == [[12, 1000], [500, 24]]


@pytest.mark.parametrize(
    ("make", "longest"),
    [
        (lambda value: [{"type": "BODY", "text": value}], 1024),
        (lambda value: [BODY, {"type": "HEADER", "format": "TEXT", "text": value}], 60),
        (lambda value: [BODY, {"type": "FOOTER", "text": value}], 60),
        (lambda value: [BODY, {"type": "BUTTONS", "buttons": [{"type": "QUICK_REPLY", "text": value}]}], 20),
        (lambda value: [BODY, {"type": "BUTTONS", "buttons": [{"type": "CATALOG", "text": value}]}], 25),
        (
            lambda value: [
                BODY,
                {"type": "BUTTONS", "buttons": [{"type": "URL", "text": "x", "url": value}]},
            ],
            2000,
        ),
    ],
    ids=["body", "header", "footer", "quick-reply", "button", "url"],
)
async def test_a_text_that_is_too_long_cannot_be_created(client: Client, make: Any, longest: int) -> None:
    assert (await create(client, *make("a" * longest), name="longest")).status == 200
    assert (await create(client, *make("a" * (longest + 1)))).code == 100
