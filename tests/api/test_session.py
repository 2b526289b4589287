"""The contract of every transport, kept by the one over aiohttp's session."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from engine.api.session import SessionTransport, _GatedBody
from engine.api.transport import Transport

from .transport_contract import TransportContract
from .transports import Factory, open_gate


def session_transport(
    base_url: str, *, connections: int = 4, connect_s: float = 5, reply_s: float = 5, total_s: float = 10
) -> Transport:
    return SessionTransport(
        base_url, "the-token", connections=connections, connect_s=connect_s, reply_s=reply_s, total_s=total_s
    )


class TestSessionTransport(TransportContract):
    @pytest.fixture
    def factory(self) -> Factory:
        return session_transport


class Writer:
    """Stands for aiohttp's writer where a race cannot be staged on a real connection."""

    def __init__(self, *, should_close: bool = False, closing: bool = False) -> None:
        self.written: list[bytes] = []
        self.transport = SimpleNamespace(is_closing=lambda: closing)
        self.protocol = SimpleNamespace(should_close=should_close)

    async def write(self, chunk: bytes) -> None:
        self.written.append(chunk)


@pytest.mark.parametrize("state", [{"should_close": True}, {"closing": True}])
async def test_nothing_is_written_to_a_connection_that_broke_in_the_same_turn(state: dict[str, bool]) -> None:
    writer: Any = Writer(**state)
    body = _GatedBody(b"{}", open_gate, lambda: None)
    with pytest.raises(Exception, match="lost before the request"):
        await body.write_with_length(writer, None)
    assert (writer.written, body.written) == ([], False)


async def test_nothing_is_written_after_the_request_was_given_up() -> None:
    writer: Any = Writer()

    async def gate() -> bool:
        body.abandon()
        return True

    body = _GatedBody(b"{}", gate, lambda: None)
    with pytest.raises(Exception, match="given up"):
        await body.write_with_length(writer, None)
    assert (writer.written, body.written) == ([], False)


async def test_a_write_that_fails_counts_as_written() -> None:
    class Failing(Writer):
        async def write(self, chunk: bytes) -> None:
            raise OSError("half-way")

    writer: Any = Failing()
    body = _GatedBody(b"{}", open_gate, lambda: None)
    with pytest.raises(OSError, match="half-way"):
        await body.write_with_length(writer, None)
    assert body.written
