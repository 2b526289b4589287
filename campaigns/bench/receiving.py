"""How many signed status posts a second are answered 200 after their commit, beside a bare Protocol.

Keep-alive connections post to the receiver, which has a core of its own; the load and Postgres share another.
The yardstick meets the same load with httptools, answers 200 and keeps nothing.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing.connection import Connection as Pipe
from typing import cast

import httptools
import orjson
import uvloop
from pydantic import SecretStr

from campaigns.bench.machine import cpu_s, family_cpu_s, move_to
from campaigns.bench.planting import clear
from campaigns.bench.processes import BenchFailed
from engine.store.database import open_pool
from engine.store.migrate import migrate
from engine.webhooks.intake import Intake
from engine.webhooks.metrics import Metrics
from engine.webhooks.receiver import Receiver, Secrets, listening
from engine.webhooks.signature import sign

PRODUCT = "bench"
SECRET, TOKEN = "bench-secret", "bench-token"
CONNECTIONS = 128
BODIES = 256  # distinct ones, signed beforehand, so that the load costs little
WARM_S = 0.5
END_S_MAX = 10.0
_TAG = "abcd1234.2nwzvyzcc1xc.{seq}.1.7"
_PATH = "/webhook"


@dataclass(frozen=True, slots=True)
class Received:
    """Posts that were answered 200 in so many seconds, and the 99th percentile of the time to the answer.

    CPU seconds are of the receiver and of Postgres; `bare_per_s`: posts a second that the yardstick answers.
    """

    posts: int
    elapsed_s: float
    p99_ms: float
    cpu_s: float
    database_cpu_s: float
    bare_per_s: float = 0.0


def measure(
    url: str,
    server_pid: int,
    statuses: int,
    seconds: float,
    receiver_cores: Sequence[int],
    load_cores: Sequence[int],
) -> Received:
    """Post bodies of so many statuses for so long, to the receiver and then to the yardstick.

    Moves this process to `load_cores`. Raises BenchFailed for an answer other than 200, and
    ConfigurationError for a database that no bench made.
    """
    move_to(load_cores)
    asyncio.run(_prepare(url))
    requests = requests_of(statuses)
    ours, bare = (
        _serve(which, url, server_pid, requests, seconds, receiver_cores) for which in ("receiver", "bare")
    )
    return replace(ours, bare_per_s=bare.posts / bare.elapsed_s)


def requests_of(statuses: int) -> list[bytes]:
    """The bytes of signed posts, each status of a message of its own."""
    return [_post(_body(range(first, first + statuses))) for first in range(0, BODIES * statuses, statuses)]


def _body(messages: Sequence[int]) -> bytes:
    value = {
        "messaging_product": PRODUCT,
        "metadata": {"phone_number_id": "100200300"},
        "statuses": [_status(message) for message in messages],
    }
    entry = {"id": "1", "changes": [{"field": "messages", "value": value}]}
    return orjson.dumps({"object": f"{PRODUCT}_business_account", "entry": [entry]})


def _status(message: int) -> dict[str, object]:
    return {
        "id": f"wamid.HBgNNTUxMTk4NzY1NDMyMRUCABEYEjBG{message:012}",
        "status": "delivered",
        "timestamp": "1780000000",
        "recipient_id": "5511912345678",
        "biz_opaque_callback_data": _TAG.format(seq=message),
        "pricing": {"billable": True, "pricing_model": "CBP", "category": "marketing"},
    }


def _post(body: bytes) -> bytes:
    signature = sign(body, SECRET.encode())
    head = f"POST {_PATH} HTTP/1.1\r\nHost: x\r\nX-Hub-Signature-256: {signature}\r\n"
    return f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body


async def _prepare(url: str) -> None:
    await clear(url)
    await migrate(url)


def _serve(
    which: str, url: str, server_pid: int, requests: list[bytes], seconds: float, cores: Sequence[int]
) -> Received:
    ours, theirs = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    server = context.Process(target=_serve_on, args=(which, url, theirs, list(cores)), daemon=True)
    server.start()
    theirs.close()  # the child has it: its end tells here
    try:
        port, pid = cast("int", ours.recv()), cast("int", server.pid)
        before_s, database_s, began_s = cpu_s(pid), family_cpu_s(server_pid), time.perf_counter()
        taken_s = uvloop.run(_drive(port, requests, seconds))
        # The first half second is not counted, and takes its part of the CPU.
        share = seconds / (time.perf_counter() - began_s)
        return Received(
            posts=len(taken_s),
            elapsed_s=seconds,
            p99_ms=taken_s[int(len(taken_s) * 0.99)] * 1e3,
            cpu_s=(cpu_s(pid) - before_s) * share,
            database_cpu_s=(family_cpu_s(server_pid) - database_s) * share,
        )
    except EOFError:
        raise BenchFailed("the receiver did not start") from None
    finally:
        ours.close()  # it ends when nobody is there any more
        server.join(END_S_MAX)
        if server.is_alive():
            server.kill()
            server.join()


def _serve_on(which: str, url: str, pipe: Pipe, cores: Sequence[int]) -> None:
    move_to(cores)
    uvloop.run((_receive if which == "receiver" else _answer)(url, pipe))


async def _receive(url: str, pipe: Pipe) -> None:
    async with open_pool(url, size=4, by_key=True) as pool:
        metrics = Metrics()
        intake = Intake(pool, metrics, PRODUCT)
        receiver = Receiver(intake, metrics, Secrets(SecretStr(SECRET), SecretStr(TOKEN)))
        async with listening(receiver, intake, "127.0.0.1", 0) as callback:
            pipe.send(int(callback.split(":")[2].split("/")[0]))
            await asyncio.to_thread(pipe.poll, None)


async def _answer(_: str, pipe: Pipe) -> None:
    server = await asyncio.get_running_loop().create_server(_Bare, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await asyncio.to_thread(pipe.poll, None)
    server.close()


class _Bare(asyncio.Protocol):
    """Parses HTTP, answers 200."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")


class _Peer(asyncio.Protocol):
    """One connection of the load: the next post when the last one is answered."""

    def __init__(self, requests: list[bytes], first: int, taken_s: list[float], refused: list[bytes]) -> None:
        self._requests = requests
        self._next = first
        self._taken_s = taken_s
        self._refused = refused

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._post()

    def data_received(self, data: bytes) -> None:
        self._taken_s.append(time.perf_counter() - self._sent_s)
        if not data.startswith(b"HTTP/1.1 200"):
            self._refused.append(data)
        self._post()

    def _post(self) -> None:
        self._sent_s = time.perf_counter()
        self._transport.write(self._requests[self._next % len(self._requests)])
        self._next += 1


async def _drive(port: int, requests: list[bytes], seconds: float) -> list[float]:
    """The time to each answer, ascending."""
    loop = asyncio.get_running_loop()
    taken_s: list[float] = []
    refused: list[bytes] = []
    peers = [
        await loop.create_connection(partial(_Peer, requests, turn * 7, taken_s, refused), "127.0.0.1", port)
        for turn in range(CONNECTIONS)
    ]
    await asyncio.sleep(WARM_S)
    taken_s.clear()
    await asyncio.sleep(seconds)
    measured = sorted(taken_s)
    for transport, _ in peers:
        transport.abort()
    if refused or not measured:
        raise BenchFailed(
            f"a post was answered {bytes(refused[0][:80])!r}" if refused else "no post was answered"
        )
    return measured
