"""What no client sends, asked of every operation of the interface: each reply is a refusal or a documented success."""

import asyncio
import json
from collections.abc import Iterator
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from drumbeat.campaigns.console.routes import document
from drumbeat.campaigns.console.web.request_limits import RequestLimits
from drumbeat.campaigns.console.web.roles import Role
from tests.console.conftest import NUMBER, PHONE, Caller
from tests.console.test_malformed import ask

REAL = {"name": "spring", "number": NUMBER, "phone": str(PHONE), "reference": "a" * 32}
JSON, PROBLEM = "application/json", "application/problem+json"
HUGE, DEEP = 200_000, 5_000
WRONG_VALUES: dict[str, Any] = {
    "over 64 bit": 2**64,
    "under 64 bit": -(2**64),
    "a great float": 1e308,
    "NUL": "a\0b",
    "a lone surrogate": "\ud800",
    "very long": "x" * HUGE,
    "a huge list": ["1"] * HUGE,
    "a list of nothing": [None],
    "an object": {"a": {"b": 1}},
    "no value": None,
}
BODIES: dict[str, tuple[str | None, bytes]] = {
    "empty": (JSON, b""),
    "nothing said of it": (None, b"{}"),
    "plain text": ("text/plain", b"{}"),
    "a form": ("application/x-www-form-urlencoded", b"a=1"),
    "no charset of ours": (f"{JSON}; charset=utf-16", "{}".encode("utf-16")),
    "no UTF-8": (JSON, b'{"a":"\xff\xfe"}'),
    "half a document": (JSON, b'{"a":'),
    "not a number": (JSON, b'{"limit_per_s":NaN,"name":Infinity}'),
    "a key twice": (JSON, b'{"name":"a","name":"b"}'),
    "very deep": (JSON, b"[" * DEEP + b"]" * DEEP),
    "a huge array": (JSON, b"[" + b"1," * HUGE + b"1]"),
    "a text": (JSON, b'"text"'),
    "an unknown member": (JSON, b'{"nobody_knows_it":1}'),
}
QUERIES = (
    "nobody_knows_it=1",
    "%",
    "%zz=%zz",
    "%ff=%fe",
    "limit=18446744073709551616",
    "limit=-1",
    "before=%ed%a0%80",
    "after=%00",
    "code=99999999999999999999&code=x",
    "state=" + "x" * 4000,
    "&".join(f"a{row}=1" for row in range(900)),
)
SEGMENTS = ("%", "%zz", "%ff", "%ed%a0%80", "%00", "%2e%2e", "a%2fb", "18446744073709551616", "x" * 4000)
STREAM = "/api/v1/campaigns/{name}/progress"  # of a campaign that exists it does not end
OPERATIONS = [(method.upper(), path) for path, methods in document()["paths"].items() for method in methods]


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """No request is refused because there were many before it."""
    monkeypatch.setattr(RequestLimits, "wait_s", lambda *_: 0.0)


def bodies(operation: dict[str, Any]) -> Iterator[tuple[str | None, bytes]]:
    """Yield bodies that are wrong as a whole, and those with one wrong member."""
    yield from BODIES.values()
    content = operation.get("requestBody", {}).get("content", {}).get(JSON)
    if content is None:
        return
    schema = document()["components"]["schemas"][content["schema"]["$ref"].rsplit("/", 1)[1]]
    for member in schema.get("properties", {}):
        for value in WRONG_VALUES.values():
            yield JSON, json.dumps({member: value}).encode()


def requests(method: str, path: str) -> Iterator[tuple[str, str | None, bytes]]:
    """Yield address, Content-Type and body of each request."""
    plain = path.format(**(REAL | {"name": "nobody"} if path == STREAM else REAL))
    for query in QUERIES:
        yield f"{plain}?{query}", None, b""
    if plain != path:
        for segment in SEGMENTS:
            yield path.format(**dict.fromkeys(REAL, segment)), None, b""
    for kind, body in bodies(document()["paths"][path][method.lower()]):
        yield plain, kind, body


def is_documented(method: str, path: str, status: int, text: str) -> bool:
    """Return whether a reply is one of those that the document names."""
    responses = document()["paths"][path][method.lower()]["responses"]
    contents = responses.get(str(status), responses["default"])["content"]
    schema = next(iter(contents.values()))["schema"]
    if schema == {"type": "string"}:
        return True
    whole = {**schema, "components": document()["components"]}
    return bool(Draft202012Validator(whole).is_valid(json.loads(text)))


@pytest.mark.long
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
async def test_no_operation_fails_for_what_no_client_sends(
    callers: dict[Role, Caller], method: str, path: str
) -> None:
    caller = callers[Role.MANAGE]
    token = f"Authorization: {caller.headers['Authorization']}"
    wrong = []
    for address, kind, body in requests(method, path):
        header = [] if kind is None else [f"Content-Type: {kind}"]
        async with asyncio.timeout(60):
            status, text = await ask(caller.url, method, address, body, *header, token, "Idempotency-Key: k")
        if status >= 500 or not (text == "" or _is_line(text) or is_documented(method, path, status, text)):
            wrong.append((status, address[:200], kind, body[:200], text[:400]))
    assert not wrong


def _is_line(text: str) -> bool:
    """Return whether the server itself refused the head, before it was anybody's request."""
    return text.startswith(("Bad Request", "400: ", "Data after"))
