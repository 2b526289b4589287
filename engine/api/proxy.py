"""The HTTP proxy for the service. The credentials are kept apart from the address.

Errors quote the address, and they reach terminals, logs and stored reasons.
"""

from base64 import b64encode
from dataclasses import dataclass, field

from yarl import URL


@dataclass(frozen=True, slots=True)
class Proxy:
    """`url`: without user and password; None for no proxy. `tunnel_headers`: sent with CONNECT, for an HTTPS
    service. `request_headers`: sent with each request, for an HTTP service, whose requests the proxy reads.
    """

    url: URL | None = None
    tunnel_headers: dict[str, str] = field(default_factory=dict)
    request_headers: dict[str, str] = field(default_factory=dict)


def proxy_of(address: str | None, service: str) -> Proxy:
    """The proxy at `address`, for requests to the service at the URL `service`."""
    if address is None:
        return Proxy()
    url = URL(address)
    if url.user is None:
        return Proxy(url)
    credentials = b64encode(f"{url.user}:{url.password or ''}".encode()).decode()
    headers = {"Proxy-Authorization": f"Basic {credentials}"}
    return Proxy(url.with_user(None), headers, headers if URL(service).scheme == "http" else {})
