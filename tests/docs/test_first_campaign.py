"""The first campaign of the README runs as it stands, in one shell, and leaves nothing behind."""

from __future__ import annotations

import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.docs.reader import BIN, blocks
from tests.docs.test_links import ROOT

RUN_S_MAX = 180.0
RECEIVER, EMULATOR = 8080, 8081  # as the page names them
INSTALLED = "make setup\n. .venv/bin/activate\n"
# Where a command fails, the servers and the database end too.
END = "trap 'kill $(jobs -p) 2>/dev/null || true; [ ! -e drumbeat.toml ] || drumbeat db stop' EXIT\n"


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def script(section: str, receiver: int, emulator: int) -> str:
    """The commands of the section. Tests run at the same time, so ports are others; who reads is slower than a
    script, so it waits for the servers.
    """
    first, *others = blocks(section)
    assert first.startswith(INSTALLED)
    text = END + "".join([first.removeprefix(INSTALLED), *others])
    started = "drumbeat webhooks serve &\n", "/webhook &\n"
    assert all(each in text for each in started)
    text = text.replace(started[0], f"drumbeat webhooks serve --port {RECEIVER} &\n")
    waits = "".join(
        f"until (: </dev/tcp/127.0.0.1/{port}) 2>&-; do sleep 0.1; done\n" for port in (RECEIVER, EMULATOR)
    )
    text = text.replace(started[1], f"/webhook --port {EMULATOR} &\n{waits}")
    return text.replace(str(RECEIVER), str(receiver)).replace(str(EMULATOR), str(emulator))


@pytest.mark.long
def test_the_first_campaign_runs_as_it_stands(tmp_path: Path) -> None:
    section = (ROOT / "README.md").read_text("utf-8").split("## A first campaign\n")[1].split("\n## ")[0]
    (promised,) = [line for line in section.split("`") if line.startswith("5 rows = ")]
    done = subprocess.run(
        ["bash", "-euc", script(section, *free_ports(2))],
        cwd=tmp_path,
        env={"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=RUN_S_MAX,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert promised in done.stdout
    assert "spring: finished" in done.stdout
    assert list(tmp_path.iterdir()) == []
