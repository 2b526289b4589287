"""The process: its ready line, its exit codes, and its options."""

import asyncio
import contextlib
import signal
import socket
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import orjson
import pytest

COMMAND = (sys.executable, "-m", "drumbeat.campaigns.cli", "emulator", "serve")
WAIT_LIMIT_S = 90.0

pytestmark = pytest.mark.usefixtures("warm_starts")


async def launch(*options: str) -> asyncio.subprocess.Process:
    pipe = asyncio.subprocess.PIPE
    return await asyncio.create_subprocess_exec(*COMMAND, *options, stdout=pipe, stderr=pipe)


@contextlib.asynccontextmanager
async def serving(*options: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, dict[str, Any]]]:
    process = await launch("--port", "0", *options)
    assert process.stdout is not None
    try:
        async with asyncio.timeout(WAIT_LIMIT_S):
            yield process, orjson.loads(await process.stdout.readline())
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)])
async def test_it_says_when_it_listens_and_stops_on_a_signal(sent: signal.Signals, code: int) -> None:
    async with serving("--number", "4711:2.5", "--product", "talk", "--waba", "99") as (process, ready):
        assert ready["event"] == "listening"
        assert ready["numbers"] == ["4711"]
        async with aiohttp.ClientSession() as session:
            async with session.get(f"{ready['url']}/_emulator/health") as reply:
                health = await reply.json()
            assert (health["product"], health["waba"]) == ("talk", "99")
            assert health["identity"] == "drumbeat-emulator"
            assert health["cpu_s"] > 0
            process.send_signal(sent)
            assert await process.wait() == code


async def test_a_scenario_is_played_from_the_start(tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text('seed = 7\n[[fault]]\nkind = "latency"\nmedian_ms = 1\n')
    async with (
        serving("--scenario", str(file), "--latency-ms", "2") as (_, ready),
        aiohttp.ClientSession() as session,
    ):
        async with session.get(f"{ready['url']}/_emulator/faults") as reply:
            faults = (await reply.json())["faults"]
        async with session.get(f"{ready['url']}/_emulator/health") as reply:
            assert (await reply.json())["seed"] == 7
    assert [(fault["kind"], fault["median_ms"]) for fault in faults] == [("latency", 1), ("latency", 2.0)]


async def test_a_port_in_use_is_one_line_and_exit_78() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        process = await launch("--port", str(taken.getsockname()[1]))
        _, stderr = await asyncio.wait_for(process.communicate(), WAIT_LIMIT_S)
    assert process.returncode == 78
    assert stderr.decode().count("\n") == 1
    assert "--port" in stderr.decode()


@pytest.mark.parametrize(
    "options",
    [
        ("--number", "abc"),
        ("--number", "1:0"),
        ("--number", "1:5", "--number", "1:6"),
        ("--fault", "gremlin"),
        ("--fault", "lost-reply:7"),
        ("--fault", "lost-reply:0.1,until=60"),
        ("--fault", "lost-reply,until_s=inf"),
        ("--callback", "127.0.0.1:8080/webhook"),
        ("--status-delay", "inf"),
        ("--latency-ms", "inf"),
        ("--product", "no word"),
        ("--failed-ratio", "3"),
        ("--scenario", __file__),
    ],
)
async def test_a_wrong_option_is_one_line_and_exit_78(options: tuple[str, ...]) -> None:
    process = await launch("--port", "0", *options)
    _, stderr = await asyncio.wait_for(process.communicate(), WAIT_LIMIT_S)
    assert process.returncode == 78
    assert stderr.decode().startswith("drumbeat: ")
    assert stderr.decode().count("\n") == 1
