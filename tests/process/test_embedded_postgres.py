"""The embedded Postgres keeps others out, and comes back after its disk was full."""

import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import psutil
import pytest

from drumbeat.engine.errors import Unreachable
from drumbeat.engine.process import postgres_rescue
from drumbeat.engine.process.embedded_postgres import start_embedded, stop_embedded
from drumbeat.engine.process.postgres_rescue import PID_FILE
from drumbeat.testing.databases import execute, run_apart
from tests.chaos.disk import Disk, mounted, why_no_disk
from tests.cli.conftest import scratch
from tests.cli.processes import until

__all__ = ["scratch"]


def test_only_its_own_user_may_connect(server_url: str) -> None:
    """Also where the socket lies in a directory that everybody can enter, because the home's path is long."""
    (directory,) = parse_qs(urlsplit(server_url).query)["host"]
    (socket,) = (path for path in Path(directory).glob(".s.PGSQL.*") if path.suffix != ".lock")
    assert stat.S_IMODE(socket.stat().st_mode) == 0o700


@pytest.fixture
def small_disk() -> Iterator[tuple[Path, Disk]]:
    """A home on a disk of its own, with a server that is ready."""
    if reason := why_no_disk():
        pytest.skip(reason)
    directory = Path(tempfile.mkdtemp(prefix="d-", dir="/tmp"))
    directory.chmod(0o711)
    with ExitStack() as stack:
        stack.callback(directory.rmdir)
        disk = stack.enter_context(mounted(directory))
        stack.callback(disk.free)
        run_apart(execute(start_embedded(directory / "h"), "CREATE TABLE kept (x int)", "CHECKPOINT"))
        stack.callback(stop_embedded, directory / "h")
        disk.narrow()
        yield directory / "h", disk


def first_process(home: Path) -> psutil.Process:
    return psutil.Process(int((home / "postgres" / PID_FILE).read_text().split()[0]))


def is_gone(process: psutil.Process) -> bool:
    return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE


def comes_back(home: Path) -> None:
    run_apart(execute(start_embedded(home), "DROP TABLE kept"))


@pytest.mark.slow
def test_a_server_whose_disk_is_full_says_so_and_starts_when_there_is_space(
    small_disk: tuple[Path, Disk],
) -> None:
    home, disk = small_disk
    server = first_process(home)
    disk.fill()
    server.send_signal(signal.SIGQUIT)
    until(lambda: is_gone(server), "the server ends")
    with pytest.raises(Unreachable, match="disk of the embedded Postgres is full: 0 MiB are free"):
        start_embedded(home)
    disk.free()
    comes_back(home)


def test_a_server_that_hangs_is_ended_and_started_again(
    scratch: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Postgres 18 was seen so after a full disk, but not each time: another program stands for it here."""
    home = scratch / "h"
    start_embedded(home)
    stop_embedded(home)
    program = shutil.copy(shutil.which("sleep") or "/bin/sleep", scratch / "postgres")
    hanging = subprocess.Popen([program, "600"])
    Thread(target=hanging.wait).start()  # as the system collects a server that has ended
    lines = [str(hanging.pid), str(home / "postgres"), "0", "5432", "", "", "", "starting", ""]
    (home / "postgres" / PID_FILE).write_text("\n".join(lines))
    monkeypatch.setattr(postgres_rescue, "ALONE_S_MAX", 0.2)
    try:
        assert start_embedded(home)
        assert hanging.returncode == -signal.SIGQUIT
    finally:
        hanging.kill()
        stop_embedded(home)


def test_an_empty_file_of_the_process_id_does_not_keep_it_from_starting(scratch: Path) -> None:
    """A full disk leaves one, and Postgres refuses to start beside it."""
    home = scratch / "h"
    start_embedded(home)
    stop_embedded(home)
    (home / "postgres" / PID_FILE).touch()
    try:
        assert start_embedded(home)
    finally:
        stop_embedded(home)
