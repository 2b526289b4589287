"""Why somebody is in doubt stands in a report: words that need no knowledge of Python."""

import errno
import os

import aiohttp
import pytest

from engine.api.connection_errors import REASON_CHARACTERS_MAX, error_reason


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        (ConnectionResetError(errno.ECONNRESET, "whatever"), "Connection reset by peer"),
        (aiohttp.ServerDisconnectedError(), "Server disconnected"),
        (aiohttp.ClientOSError(errno.EPIPE, "whatever"), "Broken pipe"),
        (TimeoutError(), "no answer"),
        (
            aiohttp.SocketTimeoutError("Timeout on reading data from socket"),
            "Timeout on reading data from socket",
        ),
        (ConnectionError("connection lost"), "connection lost"),
        (ValueError("x" * 999), "x" * REASON_CHARACTERS_MAX),
    ],
)
def test_a_break_is_told_in_words(problem: Exception, words: str) -> None:
    assert error_reason(problem) == words


def test_a_connection_that_did_not_come_about_says_why_and_not_how() -> None:
    refused = OSError(errno.ECONNREFUSED, "Connect call failed ('10.0.0.1', 443)")
    key = aiohttp.client_reqrep.ConnectionKey("10.0.0.1", 443, True, True, None, None, None)
    assert error_reason(aiohttp.ClientConnectorError(key, refused)) == os.strerror(errno.ECONNREFUSED)
