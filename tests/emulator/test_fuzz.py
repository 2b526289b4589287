"""Malformed requests: always a documented answer or a close, never a traceback, never a hang.

`EMULATOR_FUZZ_REQUESTS` says how many (3,000 by default; 100,000 takes a minute).
"""

import asyncio
import contextlib
import os
import random
from typing import Any

import orjson

from tests.emulator.conftest import ACCOUNT, ANA, NUMBER, Client, Start, free_form, template

REQUESTS = int(os.environ.get("EMULATOR_FUZZ_REQUESTS", "3000"))
SEED = int(os.environ.get("EMULATOR_FUZZ_SEED", "1"))
CONNECTIONS = 8
WAIT_LIMIT_S = 60.0

ODD: list[Any] = [
    None, True, 0, -1, 10**30, 1.5e308, "", "x" * 5000, "\x00", "\ud800", [], {}, [[]] * 3, {"": {}}, "../..",
    "{{1}}", "5511987654321", "chat", "individual", "template",
]  # fmt: skip
CONTENT: dict[str, Any] = {
    "text": {"body": "x", "preview_url": True},
    "image": {"id": "1", "link": "https://x.example", "caption": "c"},
    "location": {"latitude": 1, "longitude": 2},
    "contacts": [{"name": {"formatted_name": "x"}, "phones": [{"phone": "1"}]}],
    "reaction": {"message_id": "wamid.x", "emoji": "👍"},
    "interactive": {
        "type": "list",
        "body": {"text": "x"},
        "action": {"button": "b", "sections": [{"title": "t", "rows": [{"id": "1", "title": "x"}]}]},
    },
}
PATHS = [
    f"/v22.0/{NUMBER}/messages", f"/v22.0/{NUMBER}/media", f"/v22.0/{NUMBER}/register", f"/v22.0/{NUMBER}",
    f"/v22.0/{NUMBER}/chat_business_profile", f"/v22.0/{ACCOUNT}/message_templates?limit=1&after=x",
    f"/v22.0/{ACCOUNT}/message_templates", f"/v22.0/{ACCOUNT}/phone_numbers?fields=a,,b", "/v22.0//", "/",
    f"/v22.0/{ACCOUNT}?fields=analytics.start(1).end(2).granularity(DAY)", f"/v21.0/{NUMBER}/messages",
    "/_emulator/health", "/_emulator/numbers", "/_emulator/faults", "/_emulator/incoming", "/_emulator/clock",
    "/_emulator/ledger?after=-1", "/_emulator/restore", "/_emulator/tokens", "/_emulator/recipients",
    "/_emulator/scenario", "/media/1.2.3", "/media/..%2f..", "/%00", "/openapi.json", "*",
]  # fmt: skip
METHODS = ["POST"] * 6 + ["GET", "DELETE", "PUT", "PATCH", "OPTIONS", "HEAD", "TRACE", "BREW"]


def spoil(value: Any, chance: random.Random) -> Any:
    """The value with something in it made odd."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        name = chance.choice(list(value))
        changed = dict(value)
        match chance.randrange(4):
            case 0:
                del changed[name]
            case 1:
                changed[chance.choice(["", "extra", "type", "text"])] = chance.choice(ODD)
            case _:
                changed[name] = spoil(value[name], chance)
        return changed
    if isinstance(value, list) and value and chance.random() < 0.7:
        index = chance.randrange(len(value))
        return [*value[:index], spoil(value[index], chance), *value[index:]]
    return chance.choice(ODD)


def body(chance: random.Random) -> bytes:
    kind = chance.choice([*CONTENT, "template"])
    message = template(ANA) if kind == "template" else free_form(kind, CONTENT[kind])
    for _ in range(chance.randrange(3)):
        message = spoil(message, chance)
    with contextlib.suppress(orjson.JSONEncodeError):
        raw = orjson.dumps(message)
        return raw[: chance.randrange(len(raw) + 1)] if chance.random() < 0.1 else raw
    return chance.randbytes(chance.randrange(200))


def request(chance: random.Random) -> bytes:
    """A request that is valid HTTP, whatever its content."""
    content = body(chance)
    lines = [f"{chance.choice(METHODS)} {chance.choice(PATHS)} HTTP/1.1", "Host: x"]
    if chance.random() < 0.9:
        lines.append("Authorization: Bearer emulator-token")
    if chance.random() < 0.3:
        types = ["application/json", "multipart/form-data; boundary=b", "multipart/form-data", "\x7f"]
        lines.append(f"Content-Type: {chance.choice(types)}")
    if chance.random() < 0.1:
        lines.append("Transfer-Encoding: chunked")
        content = b"%x\r\n%b\r\n0\r\n\r\n" % (len(content), content) if content else b"0\r\n\r\n"
    else:
        lines.append(f"Content-Length: {len(content)}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + content


def broken(chance: random.Random) -> bytes:
    """Bytes that may be anything."""
    raw = bytearray(request(chance))
    for _ in range(1 + chance.randrange(8)):
        index = chance.randrange(len(raw))
        match chance.randrange(3):
            case 0:
                raw[index] = chance.randrange(256)
            case 1:
                del raw[index : index + chance.randrange(20)]
                raw = raw or bytearray(b"x")
            case _:
                raw[index:index] = chance.randbytes(chance.randrange(5))
    return bytes(raw)


async def whole_requests(port: int, count: int, chance: random.Random) -> int:
    """Requests one after the other on connections that stay open as long as the service lets them."""
    asked = 0
    while asked < count:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            while asked < count and not reader.at_eof():
                asked += 1
                writer.write(request(chance))
                if not await read_reply(reader):
                    break
        finally:
            writer.close()
    return asked


async def read_reply(reader: asyncio.StreamReader) -> bool:
    """Check one reply; False when the connection ends with it."""
    head = await reader.readuntil(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    fields = head.lower()
    if b"transfer-encoding: chunked" in fields:
        raise AssertionError("nothing here is asked to stream")
    content = await reader.readexactly(int(fields.split(b"content-length: ")[1].split(b"\r\n")[0]))
    assert b"Traceback" not in content
    assert status < 500, content
    if status >= 400 and content:  # a reply to HEAD has none
        error = orjson.loads(content)["error"]
        assert error["message"]
        assert error["error_data"]["details"]
        assert isinstance(error["code"], int)
    return b"connection: close" not in fields


async def broken_requests(port: int, count: int, chance: random.Random) -> int:
    """Each on its own connection, half-closed after it: the service must close it."""
    for _ in range(count):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        with contextlib.suppress(ConnectionError):
            writer.write(broken(chance))
            writer.write_eof()
            everything = await reader.read()
            assert b"Traceback" not in everything
            assert b"HTTP/1.1 500" not in everything
        writer.close()
    return count


async def test_what_nobody_should_send(start: Start) -> None:
    client = await start(management_calls_per_hour=10**9)
    keep_faults_out(client)
    port = int(client.emulator.url.rsplit(":", 1)[1])
    await client.control("incoming", phone_number_id=NUMBER, **{"from": ANA})
    kinds = [*[whole_requests] * 6, *[broken_requests] * 2]
    share = REQUESTS // CONNECTIONS
    async with asyncio.timeout(WAIT_LIMIT_S + REQUESTS / 200):
        done = await asyncio.gather(
            *(kind(port, share, random.Random(f"{SEED}/{index}")) for index, kind in enumerate(kinds))
        )
    assert sum(done) == share * CONNECTIONS
    assert (await client.ask("health"))["status"] == "ok"
    assert (await client.send(template("5511987654399"))).status in (200, 400)


def keep_faults_out(client: Client) -> None:
    """A fault that a random request switched on would break what is tested here."""
    client.emulator.service.faults.add = lambda config: None  # type: ignore[method-assign, assignment, return-value]
