"""A measurement in a process of its own: one line of JSON in says what to do, one out what came of it.

    python -m campaigns.bench.worker

It says `{"ready": true}` once everything is imported. It ends when its input does: without a bench nobody
would hear of it.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from typing import Any

import orjson
import uvloop
from pydantic import SecretStr

from campaigns.bench.contestants import Contestant, Measured, Task
from campaigns.bench.machine import move_to
from campaigns.bench.sending import run_part
from campaigns.bench.timing import histogram, percentiles
from engine.process.settings import ServiceSettings
from engine.process.telemetry import configure_logging

EXIT_ALONE = 70


@dataclass(frozen=True, slots=True)
class Part:
    """The engine's share of a campaign: these numbers, on these cores."""

    database_url: str
    url: str
    token: str
    version: str
    product: str
    numbers: tuple[str, ...]
    campaign_id: int
    for_s: float | None
    timed_every: int


@dataclass(frozen=True, slots=True)
class Call:
    """A function of ours (`module:function`) with its arguments by name; what it returns is a dataclass."""

    function: str
    arguments: Mapping[str, Any]


def main() -> None:
    """Read one order, carry it out, print its result."""
    configure_logging()  # to stderr: stdout belongs to the result
    _say({"ready": True})
    line = sys.stdin.buffer.readline()
    if not line:
        return
    threading.Thread(target=_end_with_input, daemon=True).start()
    order = orjson.loads(line)
    move_to(order["cores"])
    if "part" in order:
        _say(_engine(order["part"]))
    elif "call" in order:
        _say(asdict(_function(order["call"])(**order["arguments"])))
    else:
        _say(_contestant(order["contestant"], order["task"]))


def order_of(work: Part | Call | tuple[str, Task], cores: Sequence[int]) -> bytes:
    """The line for a worker: the engine's part, a call, or a contestant (`module:function`) with its task."""
    if isinstance(work, Part):
        return orjson.dumps({"cores": cores, "part": asdict(work)}) + b"\n"
    if isinstance(work, Call):
        return orjson.dumps({"cores": cores, "call": work.function, "arguments": work.arguments}) + b"\n"
    name, task = work
    return orjson.dumps({"cores": cores, "contestant": name, "task": asdict(task)}) + b"\n"


def _engine(content: dict[str, Any]) -> dict[str, Any]:
    part = Part(**content)
    service = ServiceSettings(
        base_url=part.url,
        access_token=SecretStr(part.token),
        api_version=part.version,
        product=part.product,
    )
    work = run_part(part.database_url, service, part.numbers, part.campaign_id, part.for_s, part.timed_every)
    return asdict(uvloop.run(work))


def _contestant(name: str, content: dict[str, Any]) -> dict[str, Any]:
    contestant: Contestant = _function(name)
    return _figures(uvloop.run(contestant(Task(**content))))  # type: ignore[arg-type]


def _function(name: str) -> Any:
    module, _, function = name.partition(":")
    return getattr(import_module(module), function)


def _figures(measured: Measured) -> dict[str, Any]:
    return {
        "messages": measured.messages,
        "accepted": measured.accepted,
        "elapsed_s": measured.elapsed_s,
        "cpu_s": measured.cpu_s,
        "latency_ms": percentiles(measured.latencies_ms),
        "histogram": histogram(measured.latencies_ms),
    }


def _end_with_input() -> None:
    sys.stdin.buffer.read()
    os._exit(EXIT_ALONE)


def _say(content: dict[str, Any]) -> None:
    sys.stdout.buffer.write(orjson.dumps(content) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
