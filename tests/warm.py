"""Starts commands in a process that has imported everything already: 20 ms instead of 900.

A fork server, one for each process of the test run, imports the command and forks at each start. The new
process is a child of the test run. It has the streams, the environment and the directory that were asked for,
so signals, exit codes and pipes work as usual. Only its command line in /proc is that of the fork server.

    python -m tests.warm DESCRIPTOR      the fork server
"""

import ctypes
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages
from typing import Any

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-m", "drumbeat.campaigns.cli"]
REQUEST_BYTES_MAX = 150_000  # below what one packet of a Unix socket carries
DESCRIPTORS_MAX = 256
PR_SET_CHILD_SUBREAPER = 36
# Python and the C library read these as a process starts. One that runs already cannot follow them.
READ_AT_START = ("PYTHON", "LC_", "LANG")


class WarmPopen(subprocess.Popen[Any]):
    """`subprocess.Popen`, but quicker for a plain start of the command. Other starts are as usual."""

    def _execute_child(self, args: Any, executable: Any, preexec_fn: Any, *others: Any) -> None:
        """Called once by `subprocess`, with the same arguments from Python 3.11 to 3.13."""
        close_fds, pass_fds, cwd, env, _, _, shell, *pipes, _, gid, gids, uid, umask, session, group = others
        words = [os.fsdecode(word) for word in args] if isinstance(args, list | tuple) else []
        environment = dict(os.environ if env is None else env)
        usual = (preexec_fn, close_fds, pass_fds, shell) == (None, True, (), False)
        usual = usual and (gid, gids, uid, umask, session, group) == (None, None, None, -1, False, -1)
        if not (usual and words[:3] == COMMAND and sys.platform == "linux" and _starts_alike(environment)):
            super()._execute_child(args, executable, preexec_fn, *others)  # type: ignore[misc]
            return
        standard = [own if pipe == -1 else pipe for own, pipe in enumerate((pipes[0], pipes[3], pipes[5]))]
        self.pid = _helper(os.getpid()).fork(words[3:], os.fsdecode(cwd or Path.cwd()), environment, standard)
        self._child_created = True
        self._close_pipe_fds(*pipes)  # type: ignore[attr-defined]


def _starts_alike(environment: Mapping[str, str]) -> bool:
    names = {name for name in {*environment, *os.environ} if name.startswith(READ_AT_START)} - {"PYTHONPATH"}
    return all(environment.get(name) == os.environ.get(name) for name in names)


class _Helper:
    def __init__(self) -> None:
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        words = (sys.executable, "-W", "ignore", "-m", "tests.warm", str(theirs.fileno()))
        with theirs:
            self._process = subprocess.Popen(words, pass_fds=(theirs.fileno(),), cwd=ROOT)

    def fork(self, words: list[str], cwd: str, environment: dict[str, str], streams: list[int]) -> int:
        """The process id of a new child of this process, which runs the command."""
        request = json.dumps([words, cwd, environment]).encode()
        assert len(request) < REQUEST_BYTES_MAX
        prctl = ctypes.CDLL(None).prctl
        # The fork server forks twice. When the process between them ends, the new one becomes a child of this process.
        prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        try:
            socket.send_fds(self._socket, [request], streams)
            answer = self._socket.recv(20)
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        assert answer, "the fork server that starts commands has ended"
        return int(answer)


@cache
def _helper(pid: int) -> _Helper:
    """That of this process: a forked process must not share it."""
    return _Helper()


def _prepare() -> None:
    """Import every module of ours, and with them every library, the log first, as commands do."""
    from drumbeat.campaigns.cli import main

    main.import_log()
    for package in ("drumbeat.engine", "drumbeat.campaigns", "drumbeat.emulator"):
        for module in walk_packages(import_module(package).__path__, f"{package}."):
            if not module.name.endswith("__main__"):
                import_module(module.name)
    gc.collect()
    gc.freeze()  # a collection in a forked process would copy every page of the modules


def _serve(asked: socket.socket) -> None:
    """Fork for each request. Returns in the forked processes; the fork server itself ends with the test run."""
    while True:
        request, streams, _, _ = socket.recv_fds(asked, REQUEST_BYTES_MAX, 3)
        if not request:
            os._exit(0)
        reading, writing = os.pipe()
        between = os.fork()
        if between == 0:
            child = os.fork()
            if child == 0:
                _become(*json.loads(request), streams)
                return
            os.write(writing, str(child).encode())
            os._exit(0)
        os.waitpid(between, 0)
        asked.send(os.read(reading, 20))  # only now, so that whoever asked is the parent
        for descriptor in (reading, writing, *streams):
            os.close(descriptor)


def _become(words: list[str], cwd: str, environment: dict[str, str], streams: list[int]) -> None:
    for standard, stream in enumerate(streams):
        os.dup2(stream, standard)
    os.closerange(3, DESCRIPTORS_MAX)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environment)
    tempfile.tempdir = None  # what was found in the environment of the fork server
    time.tzset()
    tempfile.tempdir = None  # an import may have looked it up in the helper's environment
    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.argv[1:] = words


def main() -> None:
    """Run as the fork server, and in each forked process as the command."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the test run, which ends the fork server
    _prepare()
    _serve(socket.socket(fileno=int(sys.argv[1])))
    from drumbeat.campaigns.cli.main import run

    run()


if __name__ == "__main__":
    main()
