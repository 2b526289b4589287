"""Requests that nobody's browser sends: each is answered with 400 and a clear text, never with an error of ours."""

import asyncio
import json
from urllib.parse import urlsplit

import orjson
import pytest

from drumbeat.campaigns.console.web.access import COOKIE
from drumbeat.campaigns.console.web.forms import NO_TEXT, UNREADABLE
from tests.console.conftest import Caller

URLENCODED, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"
SECONDS_MAX = 10.0
BODIES = {
    "no part": (MULTIPART, b"nothing of a form"),
    "no boundary": ("multipart/form-data", b"--x\r\n"),
    "a head that is none": (MULTIPART, b"--x\r\nrubbish\r\n\r\na\r\n--x--\r\n"),
    "no end": (MULTIPART, b"--x\r\nContent-Disposition: form-data; name=csrf\r\n\r\na"),
    "no name": (MULTIPART, b"--x\r\nContent-Disposition: form-data\r\n\r\na\r\n--x--\r\n"),
    "an unknown charset": (f"{URLENCODED}; charset=nope", b"name=a&password=b"),
    "a charset that is none": (f"{URLENCODED}; charset=base64", b"name=a&password=b"),
    "an unknown charset of a part": (
        MULTIPART,
        b"--x\r\nContent-Disposition: form-data; name=name\r\nContent-Type: text/plain; charset=nope\r\n\r\na\r\n--x--\r\n",
    ),
    "an unknown transfer encoding": (
        MULTIPART,
        b"--x\r\nContent-Disposition: form-data; name=name\r\nContent-Transfer-Encoding: odd\r\n\r\na\r\n--x--\r\n",
    ),
    "broken base64": (
        MULTIPART,
        b"--x\r\nContent-Disposition: form-data; name=name\r\nContent-Transfer-Encoding: base64\r\n\r\na!c=\r\n--x--\r\n",
    ),
    "no UTF-8": (URLENCODED, b"name=\xff\xfe&password=b"),
    "NUL": (URLENCODED, b"name=a%00&password=b&language=%00"),
    "no Content-Type": (None, b"name=a&password=b"),
    "another Content-Type": ("text/plain", b"name=a&password=b"),
}


async def ask(url: str, method: str, path: str, body: bytes, *headers: str) -> tuple[int, str]:
    """Send a request as it is written here; a client would refuse to. Return the status and the text."""
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port)
    lines = [f"{method} {path} HTTP/1.1", f"Host: {address.netloc}", f"Content-Length: {len(body)}"]
    lines += ["Connection: close", *headers]
    if not any(each.startswith("Origin") for each in headers):
        lines.append(f"Origin: {url}")
    try:
        writer.write("\r\n".join([*lines, "", ""]).encode("latin-1") + body)
        async with asyncio.timeout(SECONDS_MAX):
            head, _, text = (await reader.read()).partition(b"\r\n\r\n")
    finally:
        writer.close()
    return int(head.split()[1]), text.decode()


@pytest.mark.parametrize("body", BODIES)
async def test_a_form_that_cannot_be_read_is_refused_to_everybody(url: str, body: str) -> None:
    kind, content = BODIES[body]
    header = [] if kind is None else [f"Content-Type: {kind}"]
    for path in ("/sign-in", "/language"):
        status, text = await ask(url, "POST", path, content, *header)
        assert status == 400, path
        assert any(words[1:] in text for words in (UNREADABLE, NO_TEXT, "A form needs the Content-Type")), (
            path
        )


@pytest.mark.parametrize("body", BODIES)
async def test_no_form_and_no_operation_fails(url: str, manager: Caller, body: str) -> None:
    kind, content = BODIES[body]
    header = [] if kind is None else [f"Content-Type: {kind}"]
    token = f"Authorization: {manager.headers['Authorization']}"
    for path in ("/campaigns/spring/edit", "/suppression", "/users", "/new", "/suppression/import"):
        for known in ([], [token]):  # without one, this machine is known and its token is not
            status, _ = await ask(url, "POST", path, content, *header, *known)
            assert 300 <= status < 500, (path, known)
    for path in ("campaigns", "lists", "suppressions", "campaigns/spring/retries"):
        status, _ = await ask(url, "POST", f"/api/v1/{path}", content, *header, token)
        assert 400 <= status < 500, path


@pytest.mark.parametrize(
    ("header", "statuses"),
    [
        ("Authorization: Bearer \xff", {400}),
        (f"Cookie: {COOKIE}=\xff", {400}),
        ("X-CSRF-Token: \xff", {400}),
        ("Origin: http://[", {403}),
        ("Content-Encoding: gzip", {400}),
    ],
)
async def test_a_header_that_is_no_text_is_refused(url: str, header: str, statuses: set[int]) -> None:
    given = (header, f"Content-Type: {URLENCODED}")
    assert {(await ask(url, "POST", "/campaigns/spring/act/pause", b"csrf=1", *given))[0]} == statuses


@pytest.mark.parametrize(
    "path",
    [
        "/campaigns/a%00b",
        "/people?phone=%00",
        "/api/v1/campaigns/a%00b",
        "/api/v1/campaigns?before=%00",
        "/api/v1/campaigns/spring/recipients?state=failed&after=%00",
        "/campaigns/spring/message?row=99999999999999999999",
        "/api/v1/campaigns/spring/preview?row=99999999999999999999",
        "/api/v1/campaigns/spring/recipients?code=99999999999999999999",
    ],
)
async def test_an_address_holds_text_and_numbers_of_64_bit(manager: Caller, path: str) -> None:
    assert (await manager.get(path)).status in (400, 404, 422), path


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("suppressions", {"phones": ["\0"]}),
        ("campaigns/spring/retries", {"name": "a\0b"}),
        ("campaigns/spring/retries", {"code": [10**30]}),
        ("campaigns/spring/clones", {"name": "x", "changes": {"priority": 10**30}}),
        ("tokens", {"name": "a\0b", "role": "look"}),
    ],
)
async def test_a_body_holds_text_and_numbers_of_64_bit(manager: Caller, path: str, sent: object) -> None:
    headers = {"Content-Type": "application/json"}
    content = json.dumps(sent).encode()
    reply = await manager.post(f"/api/v1/{path}", data=content, headers=headers)
    assert reply.status in (400, 422), reply.text


async def test_the_refusal_of_a_key_lets_the_request_be_repeated(manager: Caller) -> None:
    path, headers = "/api/v1/campaigns/spring/test-sends", {"Idempotency-Key": "k"}
    for _ in range(2):
        reply = await manager.post(path, data=orjson.dumps({"phones": ["\0"]}), headers=headers)
        assert reply.status == 400
