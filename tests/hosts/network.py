"""Hosts as network namespaces, each with an address on the database's network and one on the service's."""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TOOLS = ("ip", "unshare", "hostname")


def faketime() -> Path | None:
    """The library that gives a process a wall clock of its own."""
    return next(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"), None)


def why_no_hosts() -> str:
    """Why this machine can make no hosts; empty if it can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if missing := [tool for tool in TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(missing)} is missing"
    if faketime() is None:
        return "libfaketime is missing: it gives each host a clock of its own (make tools)"
    try:
        with network() as made:
            made.add_host(1)
    except subprocess.CalledProcessError as error:
        return f"no network namespaces: {error.stderr.strip()}"
    return ""


class Plug:
    """The two cables of a host. `namespace`: the name of its network namespace."""

    def __init__(self, namespace: str, database_cable: str, service_cable: str) -> None:
        self.namespace = namespace
        self._database_cable = database_cable
        self._service_cable = service_cable

    def cut_database(self) -> None:
        """Packets between the host and the database vanish; the service stays reachable."""
        _ip("link", "set", self._database_cable, "down")

    def heal_database(self) -> None:
        _ip("link", "set", self._database_cable, "up")

    def pull(self) -> None:
        """Both cables: what the host still sends arrives nowhere, not even the end of a connection."""
        self.cut_database()
        _ip("link", "set", self._service_cable, "down")

    def plug_in(self) -> None:
        self.heal_database()
        _ip("link", "set", self._service_cable, "up")


class Network:
    """Two bridges on this machine, which is the last host on both. Made by `network`."""

    def __init__(self) -> None:
        self.id = secrets.token_hex(3)  # names of interfaces have at most 15 characters
        self._block = f"10.{100 + secrets.randbelow(150)}"
        self._namespaces: list[str] = []
        self._cables: list[str] = []
        self.database_address = f"{self._block}.1.254"
        self.service_address = f"{self._block}.2.254"

    @property
    def hosts(self) -> str:
        """The addresses of all hosts on the database's network."""
        return f"{self._block}.1.0/24"

    def build(self) -> None:
        for bridge, address in (("d", self.database_address), ("s", self.service_address)):
            _ip("link", "add", f"db{self.id}{bridge}", "type", "bridge")
            _ip("addr", "add", f"{address}/24", "dev", f"db{self.id}{bridge}")
            _ip("link", "set", f"db{self.id}{bridge}", "up")

    def add_host(self, place: int) -> Plug:
        """A namespace with the addresses …1.`place` (database) and …2.`place` (service)."""
        namespace = f"drumbeat-{self.id}-{place}"
        _ip("netns", "add", namespace)
        self._namespaces.append(namespace)
        _ip("-n", namespace, "link", "set", "lo", "up")
        cables = [self._add_cable(namespace, place, kind) for kind in "ds"]
        return Plug(namespace, *cables)

    def _add_cable(self, namespace: str, place: int, kind: str) -> str:
        outside, inside = f"v{self.id}{kind}{place}", f"eth-{kind}"
        _ip("link", "add", outside, "type", "veth", "peer", "name", inside, "netns", namespace)
        self._cables.append(outside)
        _ip("link", "set", outside, "master", f"db{self.id}{kind}", "up")
        network = {"d": 1, "s": 2}[kind]
        _ip("-n", namespace, "addr", "add", f"{self._block}.{network}.{place}/24", "dev", inside)
        _ip("-n", namespace, "link", "set", inside, "up")
        return outside

    def remove(self) -> None:
        for cable in self._cables:  # the kernel would remove them with the namespace, but minutes later
            with suppress(subprocess.CalledProcessError):
                _ip("link", "del", cable)
        for namespace in self._namespaces:
            with suppress(subprocess.CalledProcessError):
                _ip("netns", "del", namespace)
        for bridge in "ds":
            with suppress(subprocess.CalledProcessError):
                _ip("link", "del", f"db{self.id}{bridge}")


@contextmanager
def network() -> Iterator[Network]:
    """A network that is removed after the block."""
    made = Network()
    try:
        made.build()
        yield made
    finally:
        made.remove()


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=10)
