"""A client of the emulator's control plane, and the check that an address is an emulator.

Law: a benchmark sends nothing to an address before this check has passed. The client follows no redirect and
uses no proxy, so that the reply comes from the address itself.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

import orjson

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.system_error import system_error_text

IDENTITY = "drumbeat-emulator"  # `identity` in the reply of the emulator's `health`
READ_S_MAX = 5.0
REPLY_S_MAX = 20.0  # of the whole reply; under load a summary of many numbers takes seconds
_PORTS = {"http": 80, "https": 443}
REPLY_BYTES_MAX = 16 * 1024 * 1024  # several times the summary of 10,000 numbers
_REMEDY = (
    "a benchmark sends only to an emulator: start one with `drumbeat emulator serve`, or leave out --service"
)
_TRUST = "name the certificate of its authority with --ca-file"


class ControlPlane:
    """The control plane at `url`. A request that fails raises OSError, HTTPException or ValueError."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._host, self._is_tls = parts.hostname or "", parts.scheme == "https"
        self._port = parts.port or _PORTS[parts.scheme]

    def get(self, path: str) -> Any:
        return self._request("GET", path, None)

    def post(self, path: str, content: Mapping[str, object]) -> Any:
        return self._request("POST", path, orjson.dumps(content))

    def _request(self, method: str, path: str, body: bytes | None) -> Any:
        connection = self._connection()
        connection.connect()
        # The socket's time-out is for each read: a server that sends a byte at a time would block for hours.
        deadline = threading.Timer(REPLY_S_MAX, _shut_down, [connection.sock])
        deadline.daemon = True
        deadline.start()
        try:
            headers = {"Content-Type": "application/json"} if body else {}
            connection.request(method, f"/_emulator/{path}", body, headers)
            reply = connection.getresponse()
            content = reply.read(REPLY_BYTES_MAX)
            if reply.status != 200:
                raise ValueError(f"{method} /_emulator/{path} returned {reply.status}")
            return orjson.loads(content)
        finally:
            deadline.cancel()
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if not self._is_tls:
            return http.client.HTTPConnection(self._host, self._port, timeout=READ_S_MAX)
        trust = ssl.create_default_context()
        return http.client.HTTPSConnection(self._host, self._port, timeout=READ_S_MAX, context=trust)


def _shut_down(sock: socket.socket) -> None:
    """End a read of this socket at once."""
    with suppress(OSError):  # it is closed already
        sock.shutdown(socket.SHUT_RDWR)


def prove_emulator(url: str) -> tuple[ControlPlane, dict[str, Any]]:
    """Return the control plane at an address and its `health`, once both have been checked.

    ConfigurationError unless `health` and the ledger have the form of the emulator's. If the address is not
    loopback, `health` must also name the emulator as its identity.
    """
    control = ControlPlane(_plain(url))
    try:
        health, summary = control.get("health"), control.get("ledger/summary")
    except (OSError, http.client.HTTPException, ValueError) as error:
        if isinstance(error, ssl.SSLCertVerificationError):
            raise _refused(f"{url}: {system_error_text(error)}", _TRUST) from error
        raise _refused(f"{url} has no emulator's control plane ({error or type(error).__name__})") from error
    if not _is_health(health) or not _is_summary(summary):
        raise _refused(f"the server at {url} is not the emulator's control plane")
    if health.get("identity") != IDENTITY and not _is_loopback(urlsplit(url).hostname or ""):
        raise _refused(
            f"{url} is another machine, and its control plane does not identify itself as {IDENTITY}"
        )
    return control, health


def _plain(url: str) -> str:
    """Return the address, if it has only scheme, host and port."""
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme)
    except ValueError as error:  # the URL is not repeated: it may contain a password
        raise _refused(f"--service is not a valid URL: {error}") from None
    extra = parts.path.strip("/") or parts.query or parts.fragment or parts.username or parts.password
    if parts.scheme not in _PORTS or not parts.hostname or extra:
        raise _refused("the URL of an emulator looks like http://127.0.0.1:8081 or https://…")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port}"


def _refused(what: str, remedy: str = _REMEDY) -> ConfigurationError:
    return ConfigurationError(f"nothing was sent: {what}", remedy=remedy)


def _is_health(content: Any) -> bool:
    if not isinstance(content, dict) or content.get("status") != "ok":
        return False
    texts = all(isinstance(content.get(name), str) for name in ("base_url", "version", "product", "waba"))
    return texts and isinstance(content.get("accepted"), int) and isinstance(content.get("numbers"), list)


def _is_summary(content: Any) -> bool:
    return isinstance(content, dict) and {"accepted", "numbers", "errors"} <= content.keys()


def _is_loopback(host: str) -> bool:
    """Return whether the name resolves to addresses of this machine only."""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except OSError:
        return False
    return bool(found) and all(ipaddress.ip_address(str(info[4][0])).is_loopback for info in found)
