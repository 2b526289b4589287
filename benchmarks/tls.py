"""The benchmark of TLS: what does it cost a message, and a connection?

    python -m drumbeat.benchmarks.tls [REPEATS]

The engine's connections, with a plain aiohttp loop as the baseline, each over HTTP and HTTPS, against a
server on the other core that gives every request the same reply. Then a thousand of the engine's connections
at once, and their memory. `openssl` makes a certificate for the run, which SSL_CERT_FILE makes trusted.

Profile (perf): six tenths of what TLS adds are OpenSSL's, a record and its cipher in each direction; the rest
is uvloop's transfer between OpenSSL and the socket. It would be four times as much if the C library mapped
the block of each read anew, which `engine.process.memory.keep_large_blocks` prevents.
"""

from __future__ import annotations

import asyncio
import os
import ssl
import statistics
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import orjson
import uvloop

from drumbeat.benchmarks.harness.bare_protocol import BareProtocol
from drumbeat.benchmarks.harness.certificates import made_certificate, trusting
from drumbeat.benchmarks.harness.machine import move_to_service_core
from drumbeat.benchmarks.harness.processes import BenchmarkFailed, first_line, last_line, started
from drumbeat.benchmarks.harness.script import counts, print_conditions, run_script
from drumbeat.benchmarks.memory import memory
from drumbeat.benchmarks.senders.baselines import Task
from drumbeat.benchmarks.senders.runs import run_task
from drumbeat.engine.api.lanes import LaneTransport
from drumbeat.engine.core.outcome import Accepted
from drumbeat.engine.process.memory import keep_large_blocks

SCHEMES = ("http", "https")
MESSAGES = {"engine_transport": 60_000, "plain_loop": 15_000}
CONNECTIONS = 1_000
RUN_S_MAX = 120.0
BODY = (
    b'{"messaging_product":"chat","contacts":[{"input":"5511980000001","wa_id":"5511980000001"}],'
    b'"messages":[{"id":"wamid.HBgNNTUxMTk4MDAwMDAwMRUCABEYEjQ5QUJDREVGMDEyMzQ1Njc4OQA="}]}'
)
REPLY = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (
    len(BODY),
    BODY,
)


async def serve(certificate: str, key: str) -> None:
    """Listen over both schemes, print the ports, and serve until the process ends."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    loop = asyncio.get_running_loop()
    ports = {}
    for scheme, tls in zip(SCHEMES, (None, context), strict=True):
        server = await loop.create_server(
            partial(BareProtocol, REPLY), "127.0.0.1", 0, ssl=tls, backlog=2 * CONNECTIONS
        )
        ports[scheme] = server.sockets[0].getsockname()[1]
    print(orjson.dumps(ports).decode(), flush=True)
    await asyncio.Event().wait()


@contextmanager
def serving() -> Iterator[dict[str, str]]:
    """Run a server of both schemes on the service's core, and yield scheme → URL."""
    with (
        made_certificate() as made,
        trusting(made.chain),
        tempfile.TemporaryFile() as errors,
        started(
            ["-m", "drumbeat.benchmarks.tls", "serve", str(made.chain), str(made.key)], stderr=errors
        ) as process,
    ):
        if not (line := first_line(process)):
            raise BenchmarkFailed(f"the server did not start: {last_line(errors)}")
        yield {scheme: f"{scheme}://127.0.0.1:{port}" for scheme, port in orjson.loads(line).items()}


def cpu_us(sender: str, url: str) -> float:
    """Return the CPU microseconds a message of a sender in its own process."""
    task = Task(
        url=url,
        token="bench",
        version="v1",
        product="chat",
        numbers=("1",),
        first_phone=5511900000000,
        database_url="",
        messages=MESSAGES[sender],
    )
    found = run_task(sender, task, RUN_S_MAX)
    return float(found["cpu_s"] / found["messages"] * 1e6)


def connection_bytes(url: str) -> float:
    """Return the private memory of each of CONNECTIONS, in their own process."""
    arguments = ["-m", "drumbeat.benchmarks.tls", "connect", url]
    with tempfile.TemporaryFile() as errors, started(arguments, stderr=errors) as process:
        if not (line := first_line(process)):
            raise BenchmarkFailed(f"{CONNECTIONS} connections to {url}: {last_line(errors)}")
        return float(line)


async def connect(url: str) -> None:
    """Open CONNECTIONS, send once through each, all at the same time, and print the memory of each."""
    keep_large_blocks()
    transport = LaneTransport(url, "bench", connections=CONNECTIONS)
    together, passed = asyncio.Event(), 0

    async def gate() -> bool:
        nonlocal passed
        passed += 1
        if passed == CONNECTIONS:
            together.set()
        await together.wait()
        return True

    async def open_gate() -> bool:
        return True

    try:
        await transport.send("1", b"{}", open_gate)
        before = memory(os.getpid()).private_bytes
        outcomes = await asyncio.gather(*(transport.send("1", b"{}", gate) for _ in range(CONNECTIONS)))
        if not all(isinstance(outcome, Accepted) for outcome in outcomes):
            raise BenchmarkFailed(f"{url}: not all {CONNECTIONS} connections got a reply")
        print((memory(os.getpid()).private_bytes - before) / CONNECTIONS, flush=True)
    finally:
        await transport.close()


def main() -> None:
    (repeats,) = counts(__doc__, repeats=5)
    print_conditions()
    with serving() as urls:
        move_to_service_core()
        taken: dict[tuple[str, str], list[float]] = {}
        for _ in range(repeats):
            for sender in MESSAGES:
                for scheme, url in urls.items():
                    taken.setdefault((sender, scheme), []).append(cpu_us(sender, url))
        medians = {key: statistics.median(figures) for key, figures in taken.items()}
        print(f"CPU of the sender each, median of {repeats}, in brackets the range")
        for scheme in SCHEMES:
            for sender in MESSAGES:
                figures = taken[sender, scheme]
                print(
                    f"{scheme:>6} {sender:17}{medians[sender, scheme]:>7.1f} µs"
                    f" ({min(figures):.1f} – {max(figures):.1f})"
                )
            ratio = medians["plain_loop", scheme] / medians["engine_transport", scheme]
            print(f"{scheme:>6} the engine's connections use {ratio:.2f} × less")
        for scheme, url in urls.items():
            each = connection_bytes(url) / 1024
            print(f"{scheme:>6} {each:.1f} KiB a connection, {CONNECTIONS:,} at once", flush=True)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["serve", certificate, key]:
            uvloop.run(serve(certificate, key))
        case ["connect", url]:
            uvloop.run(connect(url))
        case _:
            run_script(main)
