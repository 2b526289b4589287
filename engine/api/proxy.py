"""The HTTP proxy on the way to the service: its address, and apart from it who asks.

Errors repeat the address that they were given, and they reach terminals, logs and stored reasons.
"""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass, field

from yarl import URL


@dataclass(frozen=True, slots=True)
class Proxy:
    """`url`: without user and password, None for no proxy. `tunnel_headers`: for the proxy where it joins the
    two ends of TLS; `request_headers`: for it where it reads the request itself.
    """

    url: URL | None = None
    tunnel_headers: dict[str, str] = field(default_factory=dict)
    request_headers: dict[str, str] = field(default_factory=dict)


def proxy_of(address: str | None, service: str) -> Proxy:
    """How the service at this URL is reached by way of the proxy at `address`."""
    if address is None:
        return Proxy()
    url = URL(address)
    if url.user is None:
        return Proxy(url)
    credentials = b64encode(f"{url.user}:{url.password or ''}".encode()).decode()
    asks = {"Proxy-Authorization": f"Basic {credentials}"}
    return Proxy(url.with_user(None), asks, asks if URL(service).scheme == "http" else {})
