"""A command imports only what it needs: the first message waits for every import."""

import os
import subprocess
import sys

import pytest

# Nobody listens on port 1: the command has imported all that it needs, and ends where it asks the database.
NO_DATABASE = {
    "DRUMBEAT_DATABASE_URL": "postgresql://nobody@127.0.0.1:1/nothing",
    "DRUMBEAT_LOG_LEVEL": "error",
}
LISTED = """
import sys
from drumbeat.campaigns.cli.main import main
code = main(sys.argv[1:])
print(*sys.modules, sep="\\n")
sys.exit(code)
"""
UNREACHABLE = 69

RUN = ("campaign", "run", "x", "--quiet")
STATUS = ("campaign", "status", "x")
NOT_FOR_A_RUN = [
    "aiohttp.web",
    "drumbeat.campaigns.planning.create",
    "drumbeat.campaigns.results.report",
    "emulator",
    "drumbeat.engine.process.embedded_postgres",
    "drumbeat.engine.webhooks",
    "httptools",
    "phonenumbers",
    "prometheus_client",
    "psutil",
    "rich",
]


def imported(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LISTED, *words],
        env={**os.environ, **NO_DATABASE},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == UNREACHABLE, done.stderr
    return set(done.stdout.split())


@pytest.fixture(scope="module")
def for_a_run() -> set[str]:
    found = imported(*RUN)
    assert {"aiohttp", "asyncpg", "drumbeat.engine.app", "structlog"} <= found, (
        "the command did not get far enough"
    )
    return found


@pytest.mark.parametrize("module", NOT_FOR_A_RUN)
def test_a_run_does_not_import(for_a_run: set[str], module: str) -> None:
    assert module not in for_a_run


def test_who_only_asks_the_database_does_not_import_the_client_of_the_service() -> None:
    assert "aiohttp" not in imported(*STATUS)


def test_a_terminal_is_still_drawn_on() -> None:
    """`rich` is kept from one library only, not from the process."""
    code = "import drumbeat.campaigns.cli.main as main; main.import_log(); import drumbeat.campaigns.cli.terminal_view"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_embedded_postgres_asks_nobody_for_directories_that_services_lack() -> None:
    """Its import warned on a machine without XDG_RUNTIME_DIR; benchmarks print what they find on stderr."""
    environment = {name: value for name, value in os.environ.items() if name != "XDG_RUNTIME_DIR"}
    done = subprocess.run(
        [sys.executable, "-W", "always", "-c", "import drumbeat.engine.process.embedded_postgres"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, "XDG_RUNTIME_DIR" in done.stderr) == (0, False)
