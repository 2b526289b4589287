"""The words to systemd arrive at the socket that it names, and nothing happens without one."""

import asyncio
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from drumbeat.engine.process.service_manager import managed, tell


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    path = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(str(path))
        listener.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", str(path))
        yield listener


async def test_it_is_ready_then_works_then_stops(
    manager: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WATCHDOG_USEC", "20000")
    with managed():
        words = [await asyncio.to_thread(manager.recv, 100) for _ in range(4)]
    assert words == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1", b"WATCHDOG=1"]
    manager.setblocking(False)
    rest: list[bytes] = []
    while not rest or rest[-1] != b"STOPPING=1":
        rest.append(manager.recv(100))
    assert set(rest) <= {b"WATCHDOG=1", b"STOPPING=1"}


def test_a_manager_that_is_gone_is_no_error(manager: socket.socket) -> None:
    Path(manager.getsockname()).unlink()
    tell("READY=1")


def test_without_a_manager_nothing_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOTIFY_SOCKET", raising=False)
    tell("READY=1")
