"""The HTTP proxy for the service. The credentials are kept apart from the address.

Errors quote the address, and they reach terminals, logs and stored reasons.
"""

from base64 import b64encode
from dataclasses import dataclass, field

from yarl import URL


@dataclass(frozen=True, slots=True)
class Proxy:
    """An HTTP proxy. `url` has no user and password; it is None if there is no proxy.

    `tunnel_headers` are sent with CONNECT, for an HTTPS service. `request_headers` are sent with each
    request, for an HTTP service, because the proxy reads its requests.
    """

    url: URL | None = None
    tunnel_headers: dict[str, str] = field(default_factory=dict)
    request_headers: dict[str, str] = field(default_factory=dict)


def proxy_of(address: str | None, service: str) -> Proxy:
    """Return the proxy at `address`, for requests to the service at the URL `service`."""
    if address is None:
        return Proxy()
    url = URL(address)
    if url.user is None:
        return Proxy(url)
    credentials = b64encode(f"{url.user}:{url.password or ''}".encode()).decode()
    headers = {"Proxy-Authorization": f"Basic {credentials}"}
    return Proxy(url.with_user(None), headers, headers if URL(service).scheme == "http" else {})
