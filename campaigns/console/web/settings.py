"""The settings of the console: its address, and who may reach it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from pathlib import Path
from urllib.parse import urlsplit

from drumbeat.campaigns.console.web.oidc_rules import Provider, provider_of
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.settings import Settings

LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})
UPLOADS = "uploads"


@dataclass(frozen=True, slots=True)
class ConsoleSettings:
    """The settings of the console. `url`: the address in browsers; None means that only this machine uses it.
    `user_header`: the header that names the user in requests of `proxies`. `uploads`: the directory of
    uploaded files, which no address leads to. `approval`: nothing starts before a second person has approved
    it. `zone`: the zone of times on pages. `provider`: where people may sign in, beside passwords.
    """

    url: str | None
    user_header: str | None
    proxies: tuple[IPv4Network | IPv6Network, ...]
    uploads: Path
    upload_bytes_max: int
    approval: bool = False
    zone: str = "UTC"
    provider: Provider | None = None

    @property
    def is_secure(self) -> bool:
        """Return whether browsers use HTTPS."""
        return self.url is not None and self.url.startswith("https:")

    def serves_host(self, host: str) -> bool:
        """Return whether the Host of a request is ours. Another site may have a name that leads to this
        machine.
        """
        if self.url is not None and host == urlsplit(self.url).netloc:
            return True
        return _name_of(host) in LOOPBACK_NAMES

    def is_this_machine(self, host: str, peer: str | None) -> bool:
        """Return whether a request comes from this machine, and not through a proxy for others: a proxy
        passes on the Host.
        """
        return _name_of(host) in LOOPBACK_NAMES and peer is not None and is_loopback(peer)

    def is_proxy(self, peer: str | None) -> bool:
        """Return whether the peer is a proxy of ours, whose headers count."""
        found = plain_address(peer or "")
        return found is not None and any(found in network for network in self.proxies)

    def address_of(self, peer: str | None, forwarded_for: Sequence[str]) -> str:
        """Return the address that makes the request: the last one that is no proxy of ours.

        `forwarded_for`: all lines of X-Forwarded-For. Some proxies add a line of their own behind the one
        that the client invented, so no line may be read alone.
        """
        hops = [each.strip() for line in forwarded_for for each in line.split(",") if each.strip()]
        address = peer or ""
        while hops and self.is_proxy(address):
            address = hops.pop()
        found = plain_address(address)
        return address if found is None else str(found)


def plain_address(text: str) -> IPv4Address | IPv6Address | None:
    """Return the address in a text such as `192.0.2.7:4711` or `[2001:db8::1]:443`, or None if it holds none.
    An address of IPv4 that is written as one of IPv6 is the address of IPv4.
    """
    host = text.partition("]")[0][1:] if text.startswith("[") else text
    if host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        found = ip_address(host)
    except ValueError:  # a client may send anything
        return None
    return found.ipv4_mapped or found if isinstance(found, IPv6Address) else found


def _name_of(host: str) -> str:
    """Return the Host of a request without its port."""
    return host.rpartition(":")[0] if not host.endswith("]") and ":" in host else host


def console_settings(settings: Settings) -> ConsoleSettings:
    """Return the settings of the console. ConfigurationError if the header of a proxy is named without the
    proxy.
    """
    if settings.console_user_header is not None and settings.console_proxies is None:
        raise ConfigurationError(
            "anybody could send the header that names the user",
            remedy="set DRUMBEAT_CONSOLE_PROXIES to the addresses that may",
        )
    networks = [ip_network(part.strip()) for part in (settings.console_proxies or "").split(",") if part]
    return ConsoleSettings(
        settings.console_url,
        settings.console_user_header,
        tuple(networks),
        settings.home / UPLOADS,
        settings.console_upload_mib << 20,
        settings.console_approval,
        settings.console_zone,
        provider_of(settings),
    )


def is_loopback(host: str) -> bool:
    """Return whether an address to listen on can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def require_guarded(settings: ConsoleSettings, host: str, *, has_users: bool) -> None:
    """Raise ConfigurationError unless the console may listen on `host`. Without users, it serves this machine
    alone. If a start needs two people, the console needs users.
    """
    has_people = has_users or settings.user_header is not None or settings.provider is not None
    if settings.approval and not has_people:
        raise ConfigurationError(
            "a start needs two people, and the console has no user",
            remedy="add two with `drumbeat console user add`, or unset DRUMBEAT_CONSOLE_APPROVAL",
        )
    if is_loopback(host):
        return
    if settings.url is None:
        raise ConfigurationError(
            f"the console would be reached from other machines at {host}, and its address is not known",
            remedy="set DRUMBEAT_CONSOLE_URL, such as https://drumbeat.example",
        )
    if not has_people:
        raise ConfigurationError(
            f"the console would be open to everybody who reaches {host}: it has no user",
            remedy="add one with `drumbeat console user add`",
        )
