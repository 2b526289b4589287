"""A connection without a socket: bodies that wait for their end, and the memory that they take."""

import asyncio
import tracemalloc
from typing import cast

import pytest

from drumbeat.http_server.body_quota import BodyQuota
from drumbeat.http_server.connection import LINGER_S, HttpConnection
from drumbeat.http_server.limits import Limits
from drumbeat.http_server.parser import RawRequest
from drumbeat.http_server.replies import ReplySlot

CHUNKED = b"POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
GET = b"GET / HTTP/1.1\r\n\r\n"
LIMITS = Limits(body_bytes=32 * 1024 * 1024, usual_body_bytes=1024 * 1024, large_bodies=0)


class Peer:
    """Stands for the transport of a peer, and keeps what was written to it."""

    def __init__(self) -> None:
        self.data = b""
        self.ended = ""
        self.is_read = True

    def write(self, data: bytes) -> None:
        self.data += data

    def is_closing(self) -> bool:
        return self.ended in ("closed", "aborted")

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        self.ended = "half closed"

    def close(self) -> None:
        self.ended = "closed"

    def abort(self) -> None:
        self.ended = "aborted"

    def pause_reading(self) -> None:
        self.is_read = False

    def resume_reading(self) -> None:
        self.is_read = True


class Application:
    """Answers 200 at once, or leaves the slots of its requests open."""

    def __init__(self, *, at_once: bool = True) -> None:
        self.at_once = at_once
        self.targets: list[bytes] = []
        self.slots: list[ReplySlot] = []

    def handle(self, request: RawRequest, slot: ReplySlot) -> None:
        self.targets.append(request.target)
        self.slots.append(slot)
        if self.at_once:
            slot.finish(b"HTTP/1.1 200 ")

    def refusal(self, status: int) -> bytes:
        return b"HTTP/1.1 %d " % status


def connected(
    quota: BodyQuota | None = None, limits: Limits = LIMITS, application: Application | None = None
) -> tuple[HttpConnection, Peer]:
    peer = Peer()
    connection = HttpConnection(
        application or Application(), limits, quota or BodyQuota(limits), lambda _: None
    )
    connection.connection_made(cast(asyncio.Transport, peer))
    return connection, peer


async def test_of_too_many_bodies_that_wait_for_their_rest_the_first_is_refused() -> None:
    """A peer that begins many bodies and ends none keeps no peer out that sends without a pause."""
    quota = BodyQuota(Limits(body_bytes=1000, usual_body_bytes=1000, waiting_bytes=250))
    head, part = b"POST / HTTP/1.1\r\nContent-Length: 200\r\n\r\n", b"x" * 50
    (first, first_peer), (second, second_peer), (third, third_peer) = [connected(quota) for _ in range(3)]
    first.data_received(head + part)
    second.data_received(head)
    for _ in range(2):
        second.data_received(part)
    first.data_received(part)
    whole, whole_peer = connected(quota)
    whole.data_received(head + 4 * part)
    assert (whole_peer.data[9:12], quota.waiting_bytes) == (b"200", 200), "what comes whole waits for nothing"
    third.data_received(head + part)
    assert (first_peer.data, quota.waiting_bytes) == (b"", 250)
    third.data_received(part)
    assert (first_peer.data[9:12], second_peer.data, third_peer.data) == (b"503", b"", b"")
    assert quota.waiting_bytes == 200
    second.data_received(part + part)
    assert (second_peer.data[9:12], quota.waiting_bytes) == (b"200", 100)
    third.connection_lost(None)
    assert quota.waiting_bytes == 0


def held_bytes(begin: bytes, more: bytes, times: int) -> tuple[int, bytes]:
    """The memory taken by a body that is not complete, and what was answered."""
    connection, peer = connected()
    tracemalloc.start()
    try:
        connection.data_received(CHUNKED + begin)
        for _ in range(times):
            connection.data_received(more)
        return tracemalloc.get_traced_memory()[0], peer.data
    finally:
        tracemalloc.stop()


async def test_a_body_in_tiny_chunks_takes_no_more_memory_than_its_size() -> None:
    size = 2 * 9_000 * 40
    held, answer = held_bytes(b"", b"2\r\nxy\r\n" * 9_000, 40)
    assert (held < 2 * size, answer) == (True, b"")


@pytest.mark.parametrize("lines", [b"".join(b"a%d: 1\r\n" % n for n in range(9_000)), b"x" * 90_000])
async def test_a_trailer_is_not_kept_however_long_it_is(lines: bytes) -> None:
    held, answer = held_bytes(b"1\r\nx\r\n0\r\na: ", lines, 20)
    assert held < 10 * len(lines)
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_a_head_behind_many_whole_requests_is_no_trailer() -> None:
    """They come in one piece, which is longer than any head may be."""
    whole = b"1\r\nx\r\n0\r\n\r\n"
    _, answers = held_bytes(whole, (CHUNKED + whole) * 300 + CHUNKED, 1)
    assert answers.count(b"HTTP/1.1 200 ") == answers.count(b"HTTP/1.1 ") == 301


async def test_replies_leave_in_the_order_of_the_requests() -> None:
    application = Application(at_once=False)
    connection, peer = connected(application=application)
    connection.data_received(GET * 3)
    application.slots[2].finish(b"third ")
    application.slots[1].finish_in_chunks([b"second, ", b"in chunks "], None)
    assert peer.data == b""
    application.slots[0].finish(b"first ")
    assert peer.data == b"first second, in chunks third "


async def test_nothing_more_is_read_while_too_many_replies_are_open() -> None:
    application = Application(at_once=False)
    limits = Limits(body_bytes=1000, usual_body_bytes=1000, pipelined=2)
    connection, peer = connected(limits=limits, application=application)
    connection.data_received(GET)
    assert peer.is_read
    connection.data_received(GET)
    assert not peer.is_read
    application.slots[0].finish(b"first ")
    assert peer.is_read


async def test_a_peer_that_reads_no_replies_is_not_written_to_and_is_ended_in_the_end() -> None:
    connection, peer = connected()
    connection.pause_writing()
    connection.data_received(GET)
    assert (peer.data, peer.is_read) == (b"", False)
    connection.resume_writing()
    assert (peer.data, peer.is_read) == (b"HTTP/1.1 200 ", True)
    connection.pause_writing()
    connection.expire(0)
    connection.expire(LIMITS.idle_s - 1)
    assert peer.ended == ""
    connection.expire(LIMITS.idle_s)
    assert peer.ended == "aborted"


async def test_time_does_not_pass_for_a_peer_that_waits_for_its_reply() -> None:
    application = Application(at_once=False)
    connection, peer = connected(application=application)
    connection.data_received(GET)
    connection.expire(0)
    connection.expire(10 * LIMITS.idle_s)
    assert peer.ended == ""
    application.slots[0].finish(b"late ")
    assert peer.data == b"late "


async def test_after_the_last_request_no_further_one_is_handled() -> None:
    application = Application(at_once=False)
    connection, peer = connected(application=application)
    connection.data_received(b"GET /last HTTP/1.1\r\nConnection: close\r\n\r\n" + GET)
    assert (application.targets, application.slots[0].last) == ([b"/last"], True)
    application.slots[0].finish(b"reply ")
    assert (peer.data, peer.ended) == (b"reply ", "closed")


async def test_a_refused_peer_is_read_on_until_it_has_seen_why() -> None:
    connection, peer = connected()
    connection.data_received(b"nonsense\r\n\r\n")
    assert (peer.data, peer.ended, peer.is_read) == (b"HTTP/1.1 400 ", "half closed", True)
    connection.data_received(GET)
    now = asyncio.get_running_loop().time()
    connection.expire(now)
    assert (peer.data, peer.ended) == (b"HTTP/1.1 400 ", "half closed")
    connection.expire(now + LINGER_S)
    assert peer.ended == "aborted"


async def test_a_lost_connection_wants_no_reply() -> None:
    application = Application(at_once=False)
    connection, peer = connected(application=application)
    connection.data_received(GET)
    assert application.slots[0].is_wanted
    connection.connection_lost(None)
    application.slots[0].finish(b"reply ")
    assert (application.slots[0].is_wanted, peer.data) == (False, b"")


async def test_a_refused_request_takes_nothing_of_the_quota() -> None:
    """Its body is still arriving when its head is refused, in the same chunk and after it."""
    limits = Limits(body_bytes=1000, usual_body_bytes=10, large_bodies=1, waiting_bytes=500)
    quota = BodyQuota(limits)
    connection, peer = connected(quota, limits)
    connection.data_received(b"POST / HTTP/1.1\r\nContent-Length: 2000\r\n\r\n" + b"x" * 100)
    connection.data_received(b"x" * 100)
    assert (peer.data[9:12], quota.waiting_bytes) == (b"413", 0)
    other, other_peer = connected(quota, limits)
    other.data_received(b"POST / HTTP/1.1\r\nContent-Length: 20\r\n\r\n" + b"x" * 20)
    assert other_peer.data[9:12] == b"200", "the place of a large body is free"
