"""Reports show why a recipient is in doubt. The reason must be readable without knowledge of Python."""

import errno
import os

import aiohttp
import pytest

from drumbeat.engine.api.connection_errors import REASON_CHARACTERS_MAX, error_reason


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
def test_a_connection_error_has_a_readable_reason(problem: Exception, words: str) -> None:
    assert error_reason(problem) == words


def test_a_failed_connect_gives_the_reason_without_its_parameters() -> None:
    refused = OSError(errno.ECONNREFUSED, "Connect call failed ('10.0.0.1', 443)")
    key = aiohttp.client_reqrep.ConnectionKey("10.0.0.1", 443, True, True, None, None, None)
    assert error_reason(aiohttp.ClientConnectorError(key, refused)) == os.strerror(errno.ECONNREFUSED)
