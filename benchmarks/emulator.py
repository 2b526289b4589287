"""How many sends a second does the emulator answer on one core, with all checks and the ledger?

    python -m benchmarks.emulator [--seconds 8] [--connections 64]

The baseline, in the same run, is a bare httptools server that parses the same requests and returns a constant
of the same size. Each runs on one core, the load generator wrk on the other.
"""

import argparse
import asyncio
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import httptools
import uvloop

from benchmarks.harness.machine import cpu_s
from benchmarks.harness.processes import BenchmarkFailed, end
from benchmarks.harness.script import count, parser_of, run_script
from benchmarks.harness.watchdog import register, unregister

TARGET_PER_S = 40_000
TARGET_SHARE_OF_BARE = 0.5
NUMBER = "106540352242922"

# Each request has another recipient and parameter, as in a campaign.
SCRIPT = """
local n = 0
wrk.method = "POST"
wrk.headers["Authorization"] = "Bearer emulator-token"
wrk.headers["Content-Type"] = "application/json"
request = function()
  n = n + 1
  return wrk.format(nil, nil, nil, string.format('{"messaging_product":"chat",' ..
    '"recipient_type":"individual","to":"%d","type":"template",' ..
    '"template":{"name":"order_shipped","language":{"code":"en_US"},' ..
    '"components":[{"type":"body","parameters":[{"type":"text","text":"Ana"},' ..
    '{"type":"text","text":"LH-%d"}]}]},"biz_opaque_callback_data":"i7.r0000000012.%d.1.3"}',
    5511900000000 + n, n, n))
end
"""

CONSTANT = (
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json; charset=UTF-8\r\nContent-Length: 180\r\n\r\n"
    + b"x" * 180
)


class Bare(asyncio.Protocol):
    """Parses a request and replies with a constant."""

    def __init__(self) -> None:
        self._parser = httptools.HttpRequestParser(self)
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]  # a stream server makes asyncio.Transport

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        self._transport.write(CONSTANT)


async def serve_bare() -> None:
    """Serve constants on a free port until stopped."""
    server = await asyncio.get_running_loop().create_server(Bare, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    print(json.dumps({"event": "listening", "url": url}), flush=True)
    await server.serve_forever()


@contextlib.contextmanager
def running(core: int, *command: str) -> Iterator[tuple[str, int]]:
    """A server on one core: its URL and its process id."""
    with pinned(core, sys.executable, *command) as process:
        assert process.stdout is not None
        yield json.loads(process.stdout.readline())["url"], process.pid


@contextlib.contextmanager
def pinned(core: int, *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A process on one core, while the block runs."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, process_group=0)
    register("process", process.pid)
    try:
        os.sched_setaffinity(process.pid, {core})
        yield process
    finally:
        end([process])
        unregister("process", process.pid)


def load(core: int, url: str, script: Path, arguments: argparse.Namespace) -> float:
    """Requests a second of wrk; BenchmarkFailed if a reply is not 200."""
    command = ["wrk", "-t1", f"-c{arguments.connections}", f"-d{arguments.seconds}", "-s", str(script)]
    with pinned(core, *command, f"{url}/v22.0/{NUMBER}/messages") as wrk:
        output = wrk.communicate()[0].decode()
    found = re.search(r"Requests/sec:\s+([\d.]+)", output)
    if wrk.returncode or found is None or "Non-2xx" in output or "Socket errors" in output:
        raise BenchmarkFailed(f"wrk failed: {output}")
    return float(found.group(1))


def measure(arguments: argparse.Namespace) -> dict[str, float]:
    """Measure both servers, one after the other."""
    cores = sorted(os.sched_getaffinity(0))
    server_core, client_core = cores[0], cores[-1]
    serve = ("-c", "from campaigns.cli.emulator import app; app()", "serve", "--port", "0")
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as file:
        file.write(SCRIPT)
        file.flush()
        script = Path(file.name)
        with running(server_core, "-m", "benchmarks.emulator", "--bare") as (url, pid):
            began_s = cpu_s(pid)
            bare_per_s = load(client_core, url, script, arguments)
            bare_cpu_s = cpu_s(pid) - began_s
        with running(server_core, *serve, "--number", f"{NUMBER}:10000000") as (url, pid):
            began_s = cpu_s(pid)
            emulator_per_s = load(client_core, url, script, arguments)
            used_s = cpu_s(pid) - began_s
            with urlopen(f"{url}/_emulator/ledger/summary") as reply:
                accepted = json.load(reply)["accepted"]
    return {
        "bare_per_s": round(bare_per_s),
        "emulator_per_s": round(emulator_per_s),
        "share_of_bare": round(emulator_per_s / bare_per_s, 3),
        "in_ledger": accepted,
        "cpu_us_each": round(used_s / accepted * 1e6, 1),
        "bare_cpu_us_each": round(bare_cpu_s / (bare_per_s * arguments.seconds) * 1e6, 1),
    }


def main() -> None:
    """Print the figures as JSON, and the aims."""
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=count, default=8)
    parser.add_argument("--connections", type=count, default=64)
    arguments = parser.parse_args()
    if shutil.which("wrk") is None:
        raise BenchmarkFailed("wrk is not installed: apt-get install wrk")
    figures = measure(arguments)
    print(json.dumps(figures))
    print(f"aim: emulator_per_s >= {TARGET_PER_S}, share_of_bare >= {TARGET_SHARE_OF_BARE}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--bare"]:
        uvloop.run(serve_bare())
    else:
        run_script(main)
