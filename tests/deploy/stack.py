"""Starts the services of the compose file as confined processes, in the order that the file asks for."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psutil

from tests.cli.processes import until
from tests.deploy.compose import Service, read_services
from tests.deploy.confinement import Network, confined, in_network

START_S_MAX = 60.0
# Their images bring programs that are not ours.
OTHER_PROGRAMS = frozenset({"prometheus", "alertmanager", "grafana"})
# What the entry point of the Postgres image does before it runs the command of the file.
FIRST_START = """
set -e
export PGDATA=/var/lib/postgresql/18/docker
mkdir -p -m 700 $PGDATA
initdb --username=$POSTGRES_USER --pwfile=$POSTGRES_PASSWORD_FILE --auth=scram-sha-256 $POSTGRES_INITDB_ARGS
echo 'host all all all scram-sha-256' >> $PGDATA/pg_hba.conf
echo "listen_addresses = '*'" >> $PGDATA/postgresql.conf
echo "unix_socket_directories = '/var/run/postgresql'" >> $PGDATA/postgresql.conf
echo "CREATE DATABASE $POSTGRES_DB" | postgres --single postgres
exec "$@"
"""
GET = "import sys, urllib.request; print(urllib.request.urlopen(sys.argv[1], timeout=30).read().decode())"


class Stack:
    """The running services. `directory` holds their volumes and logs."""

    def __init__(self, directory: Path, network: Network) -> None:
        self.directory = directory
        self._network = network
        self.services = read_services({"DATA_DIRECTORY": "data"})
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._holders: dict[str, int] = {}
        owners = {"data": 10001, "console": 10001, "postgres": 999}
        self._volumes = {name: self._volume(name, user) for name, user in owners.items()}

    def up(self) -> None:
        """Start every service that runs for long and is ours, or the database."""
        left = {
            name: service
            for name, service in self.services.items()
            if name not in OTHER_PROGRAMS and not service.given.get("profiles")
        }
        while left:
            startable = [
                name
                for name, service in left.items()
                if not left.keys() & service.given.get("depends_on", {})
            ]
            assert startable, f"these wait for each other: {sorted(left)}"
            for name in startable:
                self._start_when_allowed(left.pop(name))

    def run(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in the place of the service's own, and wait for its end."""
        service = self.services[name]
        command = self._confined(service, name, [*service.image["entrypoint"], *words])
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    def run_shell(self, name: str, script: str) -> subprocess.CompletedProcess[str]:
        command = self._confined(self.services[name], name, ["sh", "-c", script])
        return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)

    def fetch(self, url: str) -> str:
        """The body of a reply, asked for inside the network of the services."""
        words = [*in_network(self._holder("drumbeat")), sys.executable, "-c", GET, url]
        # The names of the services are known inside the confinement only.
        for line in self._network.hosts.read_text().splitlines():
            address, name = line.split()
            words[-1] = words[-1].replace(f"//{name}:", f"//{address}:")
        return subprocess.run(words, capture_output=True, text=True, timeout=60, check=True).stdout

    def is_healthy(self, name: str) -> bool:
        """Whether the health check of a running service succeeds, run as the container engine runs it."""
        service = self.services[name.partition("-")[0]]
        command = self._confined(service, name, service.health_check)
        return subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 0

    def main_process(self, name: str) -> psutil.Process:
        """The process that is number 1 of its namespace, as a container engine would signal it."""
        return psutil.Process(self.processes[name].pid).children()[0]

    def log(self, name: str) -> str:
        return (self.directory / f"{name}.log").read_text()

    def close(self) -> None:
        for name in self.processes:
            self.kill(name)

    def kill(self, name: str) -> None:
        """End a service as a container engine kills it: with process 1, its namespace ends.

        The death of bubblewrap alone does not: a process that changed its user no longer dies with its parent.
        """
        process = self.processes[name]
        with suppress(psutil.NoSuchProcess):
            for inner in psutil.Process(process.pid).children():
                inner.kill()
        process.kill()
        process.wait()

    def _start_when_allowed(self, service: Service) -> None:
        for name, wanted in service.given.get("depends_on", {}).items():
            self._wait_for(name, wanted["condition"])
        if service.replicas == 1:
            self._start(service, service.name)
            return
        for nth in range(1, service.replicas + 1):
            self._start(service, f"{service.name}-{nth}")

    def _wait_for(self, name: str, condition: str) -> None:
        process = self.processes[name]
        if condition == "service_completed_successfully":
            assert process.wait(START_S_MAX) == 0, self.log(name)
        elif condition == "service_healthy":
            until(lambda: process.poll() is not None or self.is_healthy(name), f"{name} is healthy")
            assert process.poll() is None, self.log(name)

    def _start(self, service: Service, name: str) -> None:
        command = service.command
        if not service.is_ours:
            command = ["sh", "-c", FIRST_START, service.name, *command]
        with (self.directory / f"{name}.log").open("w") as log:
            self.processes[name] = subprocess.Popen(
                self._confined(service, name, command), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def _confined(self, service: Service, name: str, command: list[str]) -> list[str]:
        return confined(
            service, command, holder=self._holder(name), hosts=self._network.hosts, volumes=self._volumes
        )

    def _holder(self, name: str) -> int:
        if name not in self._holders:
            self._holders[name] = self._network.join(name)
        return self._holders[name]

    def _volume(self, name: str, user: int) -> Path:
        path = self.directory / name
        path.mkdir()
        os.chown(path, user, user)
        return path
