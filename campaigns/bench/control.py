"""The emulator's control plane, asked over HTTP: who it is, what it counted, what it is to be.

It follows no redirect and uses no proxy: what answers is what stands at the address.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import orjson

from engine.errors import ConfigurationError

IDENTITY = "drumbeat-emulator"  # what the emulator's `health` says that it is
ASK_S_MAX = 5.0
ANSWER_S_MAX = 20.0  # the whole of it; under load a summary of many numbers takes seconds
REPLY_BYTES_MAX = 16 * 1024 * 1024  # of a summary of 10,000 numbers, several times
_REMEDY = (
    "a bench sends to an emulator only: start one with `drumbeat emulator serve`, or leave out --service"
)


class Control:
    """`url`: an emulator's, without a path. Asking in vain raises OSError, HTTPException or ValueError."""

    def __init__(self, url: str) -> None:
        place = urlsplit(url)
        self._host, self._port = place.hostname or "", place.port or 80

    def get(self, path: str) -> Any:
        return self._ask("GET", path, None)

    def post(self, path: str, content: Mapping[str, object]) -> Any:
        return self._ask("POST", path, orjson.dumps(content))

    def _ask(self, method: str, path: str, body: bytes | None) -> Any:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=ASK_S_MAX)
        connection.connect()
        # The time-out is of each read: what answers a byte at a time would hold us for hours.
        cut = threading.Timer(ANSWER_S_MAX, _cut, [connection.sock])
        cut.daemon = True
        cut.start()
        try:
            headers = {"Content-Type": "application/json"} if body else {}
            connection.request(method, f"/_emulator/{path}", body, headers)
            reply = connection.getresponse()
            content = reply.read(REPLY_BYTES_MAX)
            if reply.status != 200:
                raise ValueError(f"{method} /_emulator/{path} was answered {reply.status}")
            return orjson.loads(content)
        finally:
            cut.cancel()
            connection.close()


def _cut(sock: socket.socket) -> None:
    """End whatever is read from it, at once."""
    with suppress(OSError):  # it ended by itself
        sock.shutdown(socket.SHUT_RDWR)


def prove_emulator(url: str) -> tuple[Control, dict[str, Any]]:
    """The control plane at an address, and what its `health` says, before anything else is sent there.

    Raises ConfigurationError unless both `health` and the ledger answer as the emulator's do; an address
    that is not loopback must also say by name that it is the emulator.
    """
    control = Control(_plain(url))
    try:
        health, summary = control.get("health"), control.get("ledger/summary")
    except (OSError, http.client.HTTPException, ValueError) as error:
        raise _refused(f"{url} has no emulator's control plane ({error or type(error).__name__})") from error
    if not _is_health(health) or not _is_summary(summary):
        raise _refused(f"what answers at {url} is not the emulator's control plane")
    if health.get("identity") != IDENTITY and not _is_loopback(urlsplit(url).hostname or ""):
        raise _refused(f"{url} is another machine, and its control plane does not say that it is {IDENTITY}")
    return control, health


def _plain(url: str) -> str:
    """The address, if it is nothing but scheme, host and port."""
    try:
        place = urlsplit(url)
        port = place.port or 80
    except ValueError as error:  # its text is not repeated: it may hold a password
        raise _refused(f"this is no address: {error}") from None
    extra = place.path.strip("/") or place.query or place.fragment or place.username or place.password
    if place.scheme != "http" or not place.hostname or extra:
        raise _refused("the address of an emulator is like http://127.0.0.1:8081")
    host = f"[{place.hostname}]" if ":" in place.hostname else place.hostname
    return f"http://{host}:{port}"


def _refused(what: str) -> ConfigurationError:
    return ConfigurationError(f"nothing was sent: {what}", remedy=_REMEDY)


def _is_health(content: Any) -> bool:
    if not isinstance(content, dict) or content.get("status") != "ok":
        return False
    texts = all(isinstance(content.get(name), str) for name in ("base_url", "version", "product", "waba"))
    return texts and isinstance(content.get("accepted"), int) and isinstance(content.get("numbers"), list)


def _is_summary(content: Any) -> bool:
    return isinstance(content, dict) and {"accepted", "numbers", "errors"} <= content.keys()


def _is_loopback(host: str) -> bool:
    """Whether every address that the name stands for is this machine's own."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(str(one[4][0])).is_loopback for one in found)
