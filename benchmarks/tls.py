"""What does TLS cost a message, and a connection?

    python -m benchmarks.tls [REPEATS]

Lanes alone, beside the plain session loop as their yardstick, each over HTTP and over HTTPS, against a server
on the other core that says the same to every request; then a thousand lanes at once over each, and the
memory that they hold. The certificate is made for the run, by `openssl`, and trusted by way of SSL_CERT_FILE.

What the profile says (perf): six tenths of what TLS adds are OpenSSL's, a record and its cipher each way, the
rest uvloop's way between them and the connection. Where the C library maps the block of each read anew, which
`engine.process.memory.keep_large_blocks` prevents, it is four times as much.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import ssl
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import orjson
import uvloop

from benchmarks.cost import print_conditions
from benchmarks.ending import counts, perform
from benchmarks.memory import memory
from benchmarks.throughput import OURS
from campaigns.bench.contestants import Task
from campaigns.bench.machine import service_core
from campaigns.bench.processes import BenchFailed, first_line, last_line, started
from campaigns.bench.rounds import run_workers
from engine.api.lanes import LaneTransport
from engine.core.outcome import Accepted
from engine.process.memory import keep_large_blocks

SCHEMES = ("http", "https")
MESSAGES = {"lanes_alone": 60_000, "session_loop": 15_000}
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


class Answer(asyncio.Protocol):
    """Takes whatever comes for a request."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, _: bytes) -> None:
        self._transport.write(REPLY)


async def serve(certificate: str, key: str) -> None:
    """Listen over both, say where, and end with the process."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    loop = asyncio.get_running_loop()
    ports = {}
    for scheme, tls in zip(SCHEMES, (None, context), strict=True):
        server = await loop.create_server(Answer, "127.0.0.1", 0, ssl=tls, backlog=2 * CONNECTIONS)
        ports[scheme] = server.sockets[0].getsockname()[1]
    print(orjson.dumps(ports).decode(), flush=True)
    await asyncio.Event().wait()


@contextmanager
def serving() -> Iterator[dict[str, str]]:
    """A server of both schemes on the service's core: scheme → URL."""
    if shutil.which("openssl") is None:
        raise BenchFailed("there is no `openssl`, which makes the certificate")
    with tempfile.TemporaryDirectory(prefix="drumbeat-bench-") as home, tempfile.TemporaryFile() as errors:
        certificate, key = Path(home) / "certificate.pem", Path(home) / "key.pem"
        options = "-x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=localhost"
        command = ["openssl", "req", *options.split(), "-addext", "subjectAltName=IP:127.0.0.1"]
        subprocess.run([*command, "-keyout", key, "-out", certificate], check=True, capture_output=True)
        os.environ["SSL_CERT_FILE"] = str(certificate)
        with started(["-m", "benchmarks.tls", "serve", str(certificate), str(key)], stderr=errors) as process:
            if not (line := first_line(process)):
                raise BenchFailed(f"the server did not start: {last_line(errors)}")
            yield {scheme: f"{scheme}://127.0.0.1:{port}" for scheme, port in orjson.loads(line).items()}


def cpu_us(contestant: str, url: str) -> float:
    """CPU of a sender in a process of its own, a message."""
    task = Task(
        url=url,
        token="bench",
        version="v1",
        product="chat",
        numbers=("1",),
        first_phone=5511900000000,
        database_url="",
        messages=MESSAGES[contestant],
    )
    (found,) = run_workers([(f"{OURS}:{contestant}", task)], RUN_S_MAX)
    if found["accepted"] < found["messages"]:
        raise BenchFailed(f"{contestant} over {url}: {found['accepted']} of {found['messages']} accepted")
    return float(found["cpu_s"] / found["messages"] * 1e6)


def connection_bytes(url: str) -> float:
    """Memory of its own that each of CONNECTIONS takes in a process of their own."""
    words = ["-m", "benchmarks.tls", "connect", url]
    with tempfile.TemporaryFile() as errors, started(words, stderr=errors) as process:
        if not (line := first_line(process)):
            raise BenchFailed(f"{CONNECTIONS} connections to {url}: {last_line(errors)}")
        return float(line)


async def connect(url: str) -> None:
    """Open them, send once through each, all at once, and say how much memory that took."""
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
        before = memory(os.getpid()).own_bytes
        outcomes = await asyncio.gather(*(transport.send("1", b"{}", gate) for _ in range(CONNECTIONS)))
        if not all(isinstance(outcome, Accepted) for outcome in outcomes):
            raise BenchFailed(f"{url}: not all {CONNECTIONS} connections were answered")
        print((memory(os.getpid()).own_bytes - before) / CONNECTIONS, flush=True)
    finally:
        await transport.close()


def main() -> None:
    (repeats,) = counts(__doc__, repeats=5)
    print_conditions()
    with serving() as urls:
        service_core()
        taken: dict[tuple[str, str], list[float]] = {}
        for _ in range(repeats):
            for contestant in MESSAGES:
                for scheme, url in urls.items():
                    taken.setdefault((contestant, scheme), []).append(cpu_us(contestant, url))
        medians = {key: statistics.median(figures) for key, figures in taken.items()}
        print(f"CPU of the sender each, median of {repeats}, in brackets the range")
        for scheme in SCHEMES:
            for contestant in MESSAGES:
                figures = taken[contestant, scheme]
                print(
                    f"{scheme:>6} {contestant:13}{medians[contestant, scheme]:>7.1f} µs"
                    f" ({min(figures):.1f} – {max(figures):.1f})"
                )
            ratio = medians["session_loop", scheme] / medians["lanes_alone", scheme]
            print(f"{scheme:>6} lanes are {ratio:.2f} ×")
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
            perform(main)
