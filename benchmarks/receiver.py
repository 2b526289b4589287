"""How many signed events a second are answered 200 after their commit, and how far is that from the floor?

    python -m benchmarks.receiver [SECONDS]

Keep-alive connections post to the receiver, which is pinned to a core of its own; the load is pinned to the
other. The yardstick, in the same run: the same load on a bare asyncio.Protocol with httptools, which answers
200 and keeps nothing. Starts a Postgres of its own, fsync on.

Where the time goes (perf, py-spy): with one status a POST the loop takes a fifth, HTTP and the signature a
quarter, reading the body a quarter, writing the answer an eighth, handing the rows over a twentieth. With a
hundred, reading them takes half (up to half of that the tags, a quarter the JSON), packing them into arrays a
tenth; Postgres takes 1.5 to 2 us a status where a thousand are committed at once, 4 of a hundred.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import shutil
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from typing import cast

import httptools
import uvloop
from pydantic import SecretStr

from benchmarks.cost import cpu_s, print_conditions
from engine.store.database import open_pool
from engine.store.embedded import start_embedded, stop_embedded
from engine.store.migrate import migrate
from engine.webhooks.intake import Intake
from engine.webhooks.metrics import Metrics
from engine.webhooks.receiver import Receiver, Secrets, listening
from tests.webhooks.conversation import PRODUCT, SECRET, TOKEN, post, status, statuses_body

CONNECTIONS = 128
TAG = "abcd1234.2nwzvyzcc1xc.{seq}.1.7"


def requests_of(statuses: int) -> list[bytes]:
    """Distinct bodies, signed beforehand, so that the load costs little."""
    return [
        post(
            statuses_body(
                *(
                    status(
                        f"wamid.HBgNNTUxMTk4NzY1NDMyMRUCABEYEjBG{body:06}{place:06}",
                        "delivered",
                        biz_opaque_callback_data=TAG.format(seq=body * statuses + place),
                        pricing={"billable": True, "pricing_model": "CBP", "category": "marketing"},
                    )
                    for place in range(statuses)
                )
            )
        )
        for body in range(256)
    ]


class Load(asyncio.Protocol):
    """One connection: the next request when the last one is answered."""

    def __init__(self, requests: list[bytes], first: int, taken_s: list[float], refused: list[bytes]) -> None:
        self.requests = requests
        self.next = first
        self.taken_s = taken_s
        self.refused = refused

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.post()

    def post(self) -> None:
        self.sent_at = time.perf_counter()
        self.transport.write(self.requests[self.next % len(self.requests)])
        self.next += 1

    def data_received(self, data: bytes) -> None:
        self.taken_s.append(time.perf_counter() - self.sent_at)
        if not data.startswith(b"HTTP/1.1 200"):
            self.refused.append(data)
        self.post()


async def drive(port: int, requests: list[bytes], seconds: float) -> tuple[float, float]:
    """Answers a second and the 99th percentile in ms."""
    loop = asyncio.get_running_loop()
    taken_s: list[float] = []
    refused: list[bytes] = []
    peers = [
        await loop.create_connection(lambda n=n: Load(requests, n * 7, taken_s, refused), "127.0.0.1", port)
        for n in range(CONNECTIONS)
    ]
    await asyncio.sleep(0.5)
    taken_s.clear()
    await asyncio.sleep(seconds)
    measured = sorted(taken_s)
    for transport, _ in peers:
        transport.abort()
    assert not refused, refused[0]
    return len(measured) / seconds, measured[int(len(measured) * 0.99)] * 1000


async def receive(url: str, pipe: Pipe) -> None:
    async with open_pool(url, size=4, by_key=True) as pool:
        metrics = Metrics()
        intake = Intake(pool, metrics, PRODUCT)
        secrets = Secrets(SecretStr(SECRET.decode()), SecretStr(TOKEN))
        receiver = Receiver(intake, metrics, secrets)
        async with listening(receiver, intake, "127.0.0.1", 0) as callback:
            pipe.send(int(callback.split(":")[2].split("/")[0]))
            await asyncio.to_thread(pipe.poll, None)


class Bare(asyncio.Protocol):
    """Parses HTTP, answers 200."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.parser = httptools.HttpRequestParser(self)

    def data_received(self, data: bytes) -> None:
        self.parser.feed_data(data)

    def on_message_complete(self) -> None:
        self.transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")


async def answer_bare(_: str, pipe: Pipe) -> None:
    server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await asyncio.to_thread(pipe.poll, None)
    server.close()


def serve_on_own_core(which: str, url: str, pipe: Pipe) -> None:
    with suppress(OSError):
        os.sched_setaffinity(0, {0})
    uvloop.run((receive if which == "receiver" else answer_bare)(url, pipe))


def measure(which: str, url: str, requests: list[bytes], seconds: float) -> tuple[float, float, float]:
    """Answers a second, their 99th percentile in ms, and the server's CPU an answer in us."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.get_context("spawn").Process(target=serve_on_own_core, args=(which, url, theirs))
    server.start()
    try:
        port, server_pid = ours.recv(), cast(int, server.pid)
        before_s, began = cpu_s(server_pid), time.perf_counter()
        rate, p99_ms = uvloop.run(drive(port, requests, seconds))
        answers = rate * (time.perf_counter() - began)
        return rate, p99_ms, (cpu_s(server_pid) - before_s) / answers * 1e6
    finally:
        ours.send("stop")
        server.join(10)
        if server.is_alive():
            server.kill()


def main() -> None:
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 5.0
    home = Path(tempfile.mkdtemp(prefix="beat-", dir="/var/tmp"))
    print_conditions()
    with suppress(OSError):
        os.sched_setaffinity(0, {1})  # and so Postgres, which inherits it
    try:
        url = start_embedded(home)
        asyncio.run(migrate(url))
        for statuses in (1, 100):
            requests = requests_of(statuses)
            rate, p99_ms, cpu_us = measure("receiver", url, requests, seconds)
            bare, _, _ = measure("bare", url, requests, seconds)
            print(
                f"{statuses:>4} a POST: {rate:>8,.0f} POST/s  {rate * statuses:>9,.0f} statuses/s", end="  "
            )
            print(f"p99 {p99_ms:.0f} ms   CPU {cpu_us / statuses:.1f} us a status", end="   ")
            print(f"bare {bare:,.0f} POST/s   ratio {rate / bare:.2f}")
    finally:
        stop_embedded(home)
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
