"""A peer of the receiver: raw sockets, so that a test decides each byte and when it is sent."""

import asyncio
from typing import Any, NamedTuple

import orjson

from drumbeat.engine.webhooks.signature import sign

SECRET = b"app secret"
TOKEN = "verify me"
PRODUCT = "chat"


class Reply(NamedTuple):
    status: int
    headers: dict[str, str]
    body: bytes


class Peer:
    """One connection. `closed`: the receiver ended it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    @classmethod
    async def connect(cls, url: str) -> "Peer":
        host, port = url.split("/")[2].rsplit(":", 1)
        return cls(*await asyncio.open_connection(host, int(port)))

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def reply(self) -> Reply:
        async with asyncio.timeout(15):
            head = (await self.reader.readuntil(b"\r\n\r\n")).decode()
            line, *rest = head.strip().split("\r\n")
            headers = dict(part.split(": ", 1) for part in rest)
            body = await self.reader.readexactly(int(headers.get("content-length", "0")))
        return Reply(int(line.split()[1]), headers, body)

    async def is_closed(self) -> bool:
        async with asyncio.timeout(15):
            try:
                return await self.reader.read(1) == b""
            except ConnectionResetError:
                return True

    def close(self) -> None:
        self.writer.close()


def post(body: bytes, *, signature: str | None = "", path: str = "/webhook", extra: str = "") -> bytes:
    """The bytes of a POST; signed rightly unless a signature (or None for none) is given."""
    given = sign(body, SECRET) if signature == "" else signature
    line = "" if given is None else f"X-Hub-Signature-256: {given}\r\n"
    head = f"POST {path} HTTP/1.1\r\nHost: x\r\n{line}Content-Length: {len(body)}\r\n{extra}\r\n"
    return head.encode() + body


def get(path: str) -> bytes:
    return f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode()


async def ask(url: str, request: bytes) -> Reply:
    """One request on a connection of its own."""
    peer = await Peer.connect(url)
    try:
        await peer.send(request)
        return await peer.reply()
    finally:
        peer.close()


def statuses_body(*statuses: dict[str, Any], number: str = "100200300") -> bytes:
    value = {
        "messaging_product": PRODUCT,
        "metadata": {"phone_number_id": number},
        "statuses": list(statuses),
    }
    return change_body("messages", value)


def change_body(field: str, value: dict[str, Any], **entry: Any) -> bytes:
    change = {"field": field, "value": value}
    return orjson.dumps(
        {"object": f"{PRODUCT}_business_account", "entry": [{"id": "1", "changes": [change], **entry}]}
    )


def status(wamid: str, word: str = "sent", **others: Any) -> dict[str, Any]:
    return {"id": wamid, "status": word, "timestamp": "1780000000", "recipient_id": "5511912345678", **others}
