"""A second judge of the pace, which shares no code with the emulator and enforces a strict sliding second.

    python -m drumbeat.benchmarks.harness.strict_server RATE NUMBER...

A request is accepted if fewer than RATE requests of its number were accepted in the second before it;
otherwise it is throttled. The server answers `health` and `ledger/summary` as the emulator's control plane
does, so that a measurement can use it in place of the emulator. It checks nothing else.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson
import uvloop

from drumbeat.benchmarks.harness.bare_protocol import BareProtocol
from drumbeat.benchmarks.harness.control_plane import IDENTITY, prove_emulator
from drumbeat.benchmarks.harness.emulators import FIRST_NUMBER, OWN_TOKEN, EmulatorSpec, MeasuredEmulator
from drumbeat.benchmarks.harness.processes import listening

SECOND_NS = 1_000_000_000
_THROTTLED = orjson.dumps({"error": {"code": 130429, "message": "Rate limit hit"}})


class SlidingSecond:
    """The acceptances of one number: at most `limit` in any half-open second."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._accepted_ns: deque[int] = deque()
        self.accepted = self.largest = 0

    def admit(self, now_ns: int) -> bool:
        accepted_ns = self._accepted_ns
        while accepted_ns and accepted_ns[0] <= now_ns - SECOND_NS:
            accepted_ns.popleft()
        if len(accepted_ns) >= self._limit:
            return False
        accepted_ns.append(now_ns)
        self.accepted += 1
        self.largest = max(self.largest, len(accepted_ns))
        return True


class _Connection(BareProtocol):
    def __init__(self, numbers: dict[str, SlidingSecond]) -> None:
        super().__init__()
        self._numbers = numbers

    def on_url(self, url: bytes) -> None:
        self._path = url.decode()

    def on_message_complete(self) -> None:
        status, body = self._answer(self._path.strip("/").split("/"))
        head = f"HTTP/1.1 {status} \r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        self.transport.write(head.encode() + body)

    def _answer(self, path: list[str]) -> tuple[int, bytes]:
        match path:
            case [_, number, "messages"]:
                judge = self._numbers[number]
                if not judge.admit(time.monotonic_ns()):
                    return 400, _THROTTLED
                return 200, b'{"messages":[{"id":"wamid.%s.%d"}]}' % (number.encode(), judge.accepted)
            case ["_emulator", "health"]:
                return 200, orjson.dumps(self._health())
            case ["_emulator", "ledger", "summary"]:
                return 200, orjson.dumps(self._summary())
            case _:
                return 404, b"{}"

    def _health(self) -> dict[str, Any]:
        return {
            "identity": IDENTITY,
            "status": "ok",
            "base_url": "",
            "version": "v22.0",
            "product": "chat",
            "waba": "",
            "numbers": [],
            "cpu_s": time.process_time(),
            "accepted": sum(judge.accepted for judge in self._numbers.values()),
        }

    def _summary(self) -> dict[str, Any]:
        numbers = {
            name: {"accepted": judge.accepted, "largest_window": judge.largest}
            for name, judge in self._numbers.items()
        }
        return {"accepted": self._health()["accepted"], "errors": {}, "numbers": numbers}


@contextmanager
def strict_server(spec: EmulatorSpec) -> Iterator[MeasuredEmulator]:
    """Run the server on the service's core during the block. It adds no latency and sends no events."""
    numbers = tuple(str(FIRST_NUMBER + n) for n in range(spec.numbers))
    with listening(
        str(int(spec.rate_per_s)), *numbers, module="drumbeat.benchmarks.harness.strict_server"
    ) as running:
        control, health = prove_emulator(running.url)
        yield MeasuredEmulator(running.url, OWN_TOKEN, numbers, health["version"], health["product"], control)


async def serve(limit: int, names: list[str]) -> None:
    """Listen on a free port, print its URL, and serve until the process ends."""
    numbers = {name: SlidingSecond(limit) for name in names}
    server = await asyncio.get_running_loop().create_server(lambda: _Connection(numbers), "127.0.0.1", 0)
    url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    sys.stdout.write(orjson.dumps({"url": url}).decode() + "\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(serve(int(sys.argv[1]), sys.argv[2:]))
