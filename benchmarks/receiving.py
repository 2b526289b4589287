"""The benchmark of receiving: how many signed status events a second are committed before their 200? The
baseline is a bare Protocol.

    python -m drumbeat.benchmarks.receiving [SECONDS]

Keep-alive connections post to the receiver, which has a core of its own; the load and Postgres share another.
In the same run the baseline gets the same load: it parses HTTP with httptools, replies 200, stores nothing.
Starts a temporary Postgres with fsync on.

Profile (perf, py-spy): with one status a POST the event loop takes a fifth, HTTP and the signature a quarter,
reading the body a quarter, writing the reply an eighth, handing over the rows under a twentieth. With a
hundred, reading takes half (up to half of that the tags, a quarter the JSON) and packing them into arrays a
tenth. Postgres takes 1.5 to 2 µs a status if a thousand are committed at once, 4 if a hundred are.
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

import orjson
import uvloop
from pydantic import SecretStr

from drumbeat.benchmarks.harness.bare_protocol import BareProtocol
from drumbeat.benchmarks.harness.database import postgres
from drumbeat.benchmarks.harness.machine import CORES, cpu_s, move_to, sender_cores, tree_cpu_s
from drumbeat.benchmarks.harness.processes import BenchmarkFailed
from drumbeat.benchmarks.harness.results import Stage, StageRun
from drumbeat.benchmarks.harness.script import counts, print_conditions, run_script
from drumbeat.benchmarks.harness.seeding import clear_database
from drumbeat.benchmarks.harness.testbed import Testbed
from drumbeat.engine.store.database import open_pool
from drumbeat.engine.store.migrate import migrate
from drumbeat.engine.webhooks.intake import Intake
from drumbeat.engine.webhooks.metrics import Metrics
from drumbeat.engine.webhooks.receiver import Receiver, Secrets, listening
from drumbeat.engine.webhooks.server import probes_of
from drumbeat.engine.webhooks.signature import sign

_BASELINE = "a bare Protocol that replies 200"
RECEIVE = {
    1: Stage("receive_one", "receive statuses, one a POST", "statuses", _BASELINE),
    100: Stage("receive_hundred", "receive statuses, a hundred a POST", "statuses", _BASELINE),
}
PRODUCT = "bench"
SECRET, TOKEN = "bench-secret", "bench-token"
CONNECTIONS = 128
BODIES = 256  # distinct bodies, signed in advance, so that the load generator costs little
WARM_UP_S = 0.5
END_S_MAX = 10.0
_TAG = "abcd1234.2nwzvyzcc1xc.{seq}.1.7"
_PATH = "/webhook"


@dataclass(frozen=True, slots=True)
class Received:
    """The posts with a reply of 200, and the 99th percentile of the time to the reply.

    CPU seconds are those of the receiver and of Postgres. `baseline_per_s`: posts a second of the baseline.
    """

    posts: int
    elapsed_s: float
    p99_ms: float
    cpu_s: float
    database_cpu_s: float
    baseline_per_s: float = 0.0


def run_receive(testbed: Testbed, statuses: int, seconds: float) -> StageRun:
    """Receive in a worker process; the receiver has the sender's core."""
    arguments = {
        "server_pid": testbed.database.pid,
        "statuses": statuses,
        "seconds": seconds,
        "receiver_cores": sender_cores(),
        "load_cores": CORES[-1:],
    }
    found = Received(**testbed.run_stage("drumbeat.benchmarks.receiving:measure", arguments, CORES))
    return StageRun(
        found.posts * statuses,
        found.elapsed_s,
        found.cpu_s,
        found.database_cpu_s,
        found.baseline_per_s * statuses,
        found.p99_ms,
    )


def measure(
    url: str,
    server_pid: int,
    statuses: int,
    seconds: float,
    receiver_cores: Sequence[int],
    load_cores: Sequence[int],
) -> Received:
    """Post bodies of `statuses` each for `seconds`, to the receiver and then to the baseline.

    Moves this process to `load_cores`. BenchmarkFailed for a reply other than 200; ConfigurationError unless
    a benchmark created the database.
    """
    move_to(load_cores)
    asyncio.run(_prepare(url))
    requests = requests_of(statuses)
    receiver, bare = (
        _serve(which, url, server_pid, requests, seconds, receiver_cores)
        for which in ("receiver", "baseline")
    )
    return replace(receiver, baseline_per_s=bare.posts / bare.elapsed_s)


def requests_of(statuses: int) -> list[bytes]:
    """Return signed HTTP requests. Each status belongs to another message."""
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
    await clear_database(url)
    await migrate(url)


def _serve(
    which: str, url: str, server_pid: int, requests: list[bytes], seconds: float, cores: Sequence[int]
) -> Received:
    parent_end, child_end = multiprocessing.Pipe()
    context = multiprocessing.get_context("spawn")
    server = context.Process(target=_serve_on, args=(which, url, child_end, list(cores)), daemon=True)
    server.start()
    child_end.close()  # the child has its own copy; if it ends, `recv` raises EOFError
    try:
        port, pid = cast("int", parent_end.recv()), cast("int", server.pid)
        before_s, database_s, began_s = cpu_s(pid), tree_cpu_s(server_pid), time.perf_counter()
        taken_s = uvloop.run(_drive(port, requests, seconds))
        # The warm-up is not counted, but uses its share of the CPU.
        share = seconds / (time.perf_counter() - began_s)
        return Received(
            posts=len(taken_s),
            elapsed_s=seconds,
            p99_ms=taken_s[int(len(taken_s) * 0.99)] * 1e3,
            cpu_s=(cpu_s(pid) - before_s) * share,
            database_cpu_s=(tree_cpu_s(server_pid) - database_s) * share,
        )
    except EOFError:
        raise BenchmarkFailed("the receiver did not start") from None
    finally:
        parent_end.close()  # the server ends when its pipe closes
        server.join(END_S_MAX)
        if server.is_alive():
            server.kill()
            server.join()


def _serve_on(which: str, url: str, pipe: Pipe, cores: Sequence[int]) -> None:
    move_to(cores)
    uvloop.run((_receive if which == "receiver" else _reply)(url, pipe))


async def _receive(url: str, pipe: Pipe) -> None:
    async with open_pool(url, size=4, by_key=True) as pool:
        metrics = Metrics()
        intake = Intake(pool, metrics, PRODUCT)
        receiver = Receiver(
            intake, metrics, probes_of(pool, intake, metrics), Secrets(SecretStr(SECRET), SecretStr(TOKEN))
        )
        async with listening(receiver, intake, "127.0.0.1", 0, pool=pool) as callback:
            pipe.send(int(callback.split(":")[2].split("/")[0]))
            await asyncio.to_thread(pipe.poll, None)


async def _reply(_: str, pipe: Pipe) -> None:
    server = await asyncio.get_running_loop().create_server(BareProtocol, "127.0.0.1", 0)
    pipe.send(server.sockets[0].getsockname()[1])
    await asyncio.to_thread(pipe.poll, None)
    server.close()


class _Client(asyncio.Protocol):
    """One connection of the load: it posts again as soon as the last post has its reply."""

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
    """Return the time to each reply, ascending."""
    loop = asyncio.get_running_loop()
    taken_s: list[float] = []
    refused: list[bytes] = []
    clients = [
        await loop.create_connection(
            partial(_Client, requests, turn * 7, taken_s, refused), "127.0.0.1", port
        )
        for turn in range(CONNECTIONS)
    ]
    await asyncio.sleep(WARM_UP_S)
    taken_s.clear()
    await asyncio.sleep(seconds)
    measured = sorted(taken_s)
    for transport, _ in clients:
        transport.abort()
    if refused or not measured:
        raise BenchmarkFailed(
            f"a post got the reply {bytes(refused[0][:80])!r}" if refused else "no post got a reply"
        )
    return measured


def main() -> None:
    (seconds,) = counts(__doc__, seconds=5)
    print_conditions()
    with postgres() as database:
        for statuses in RECEIVE:
            found = measure(database.url, database.pid, statuses, seconds, sender_cores(), CORES[-1:])
            rate = found.posts / found.elapsed_s
            each = found.posts * statuses / 1e6
            cpu_us, database_us = found.cpu_s / each, found.database_cpu_s / each
            print(
                f"{statuses:>4} a POST: {rate:>8,.0f} POST/s  {rate * statuses:>9,.0f} statuses/s", end="  "
            )
            print(
                f"p99 {found.p99_ms:.0f} ms   CPU a status {cpu_us:.1f} µs, Postgres {database_us:.1f}",
                end="   ",
            )
            print(
                f"bare {found.baseline_per_s:,.0f} POST/s   ratio {rate / found.baseline_per_s:.2f}",
                flush=True,
            )


if __name__ == "__main__":
    run_script(main)
