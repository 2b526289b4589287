"""The benchmark of the emulator: how many sends a second does it answer on one core, with all checks and the
ledger?

    python -m drumbeat.benchmarks.emulator [--seconds 8] [--connections 64]

The baseline, in the same run, is a bare httptools server that parses the same requests and returns a constant
of the same size. Each runs on one core, the load generator wrk on the other.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import re
import shutil
import subprocess
import sys
import tempfile
from functools import partial

import psutil
import uvloop

from drumbeat.benchmarks.harness.bare_protocol import BareProtocol
from drumbeat.benchmarks.harness.machine import cpu_s, move_to_service_core, sender_cores
from drumbeat.benchmarks.harness.processes import BenchmarkFailed, listening
from drumbeat.benchmarks.harness.script import count, parser_of, print_conditions, run_script

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


async def serve_bare() -> None:
    """Serve constants on a free port until stopped."""
    server = await asyncio.get_running_loop().create_server(partial(BareProtocol, CONSTANT), "127.0.0.1", 0)
    print(json.dumps({"url": f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"}), flush=True)
    await server.serve_forever()


def load_per_s(url: str, options: argparse.Namespace) -> float:
    """Return the requests a second that wrk sends. BenchmarkFailed if a reply is not 200."""
    with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
        script.write(SCRIPT)
        script.flush()
        command = ["wrk", "-t1", f"-c{options.connections}", f"-d{options.seconds}", "-s", script.name]
        wrk = subprocess.run(
            [*command, f"{url}/v22.0/{NUMBER}/messages"], capture_output=True, text=True, check=False
        )
    found = re.search(r"Requests/sec:\s+([\d.]+)", wrk.stdout)
    if wrk.returncode or found is None or "Non-2xx" in wrk.stdout or "Socket errors" in wrk.stdout:
        raise BenchmarkFailed(f"wrk failed: {wrk.stdout}")
    return float(found.group(1))


def measured(options: argparse.Namespace, *arguments: str, module: str) -> tuple[float, float]:
    """Measure a server on a core of its own. Return requests a second, and CPU microseconds each."""
    with listening(*arguments, module=module) as server:
        psutil.Process(server.pid).cpu_affinity(sender_cores())
        began_s = cpu_s(server.pid)
        per_s = load_per_s(server.url, options)
        return per_s, (cpu_s(server.pid) - began_s) / (per_s * options.seconds) * 1e6


def main() -> None:
    """Print the figures, and the aims."""
    parser = parser_of(__doc__)
    parser.add_argument("--seconds", type=count, default=8)
    parser.add_argument("--connections", type=count, default=64)
    options = parser.parse_args()
    if shutil.which("wrk") is None:
        raise BenchmarkFailed("wrk is not installed: apt-get install wrk")
    print_conditions()
    move_to_service_core()
    bare_per_s, bare_us = measured(options, "--bare", module="drumbeat.benchmarks.emulator")
    arguments = ("emulator", "serve", "--port", "0", "--number", f"{NUMBER}:10000000")
    per_s, cpu_us = measured(options, *arguments, module="drumbeat.campaigns.cli")
    print(f"emulator {per_s:,.0f}/s at {cpu_us:.1f} µs, bare server {bare_per_s:,.0f}/s at {bare_us:.1f} µs")
    print(f"ratio {per_s / bare_per_s:.3f}; aims: {TARGET_PER_S:,}/s and a ratio of {TARGET_SHARE_OF_BARE}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--bare"]:
        uvloop.run(serve_bare())
    else:
        run_script(main)
