"""Every block of commands of every page is run by a test, or stands here with the reason why it is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.cli.processes import serving
from tests.docs.conftest import ROWS, Before
from tests.docs.reader import Reader, blocks, lines
from tests.docs.test_links import PAGES, ROOT

FOLLOWED = {
    "docs/operate/README.md": Before(),
    "docs/operate/database.md": Before(),
    "docs/operate/rotate-secrets.md": Before(
        replaced={"$NEW_TOKEN": "emulator-token", "resume NAME": "resume --all"}
    ),
    "docs/operate/set-up.md": Before(),
    "docs/operate/upgrade.md": Before(),
    "emulator/README.md": Before(),
}
# Blocks of these pages that are not run, by their first line.
LEFT_OUT = {
    "docs/console.md": {"drumbeat console user add ana --role manage": "it asks for a password"},
    "emulator/README.md": {'name = "a bad minute"': "a file"},
}
# Pages or folders whose blocks another test runs.
ELSEWHERE = {
    "README.md": "tests/docs/test_first_campaign.py",
    "docs/console.md": __file__,
    "docs/how-to": "tests/docs/test_how_tos.py",
    "docs/operate/backup.md": "tests/operate/test_backup.py",
    "docs/operate/failover.md": "tests/operate/test_failover.py",
    "docs/operate/notifications.md": "tests/cli/test_notify.py",
    "docs/operate/procedures.md": "tests/operate/test_runbook.py",
    "docs/reference/client.md": "tests/docs/test_client_example.py",
    "docs/tutorial": "tests/docs/test_tutorial.py",
}
NOT_RUN = {
    "CONTRIBUTING.md": "they set up this checkout, and run these tests",
    "docs/operate/containers.md": "they need Docker; tests/deploy/test_compose.py starts the same services without it",
    "docs/operate/kubernetes.md": "they need a cluster; tests/deploy/test_kubernetes.py checks the manifests",
    "docs/operate/postgres.md": "arithmetic, no command",
    "docs/operate/systemd.md": "they need systemd and root; tests/deploy runs the commands of the units",
    "docs/reference/audience-files.md": "shortened; the how-to about audiences has it in full",
    "docs/reference/options.md": "forms of commands, made from the code",
    "docs/reference/python.md": "made from the code; tests/programs runs such programs",
}
WITH_BLOCKS = [page.relative_to(ROOT).as_posix() for page in PAGES if blocks(page.read_text("utf-8"))]


@pytest.mark.parametrize("page", FOLLOWED)
def test_every_command_of_a_page_runs(page: str, reader: Callable[[Before], Reader]) -> None:
    follower = reader(FOLLOWED[page])
    assert follower.follow((ROOT / page).read_text("utf-8"), LEFT_OUT.get(page, {}))


def test_the_commands_about_the_console(reader: Callable[[Before], Reader]) -> None:
    """`curl` succeeds whatever the answer is, so the campaign that it creates is looked for."""
    follower = reader(Before(drafts=()))
    drumbeat = follower.drumbeat
    token = drumbeat.ok("console", "token", "add", "writer", "--role", "send").stdout.split()[-1]
    with serving(drumbeat, "console", "serve", "--port", "0") as url:
        text = (ROOT / "docs/console.md").read_text("utf-8")
        follower.follow(
            text.replace("http://127.0.0.1:8082", url).replace("$TOKEN", token), LEFT_OUT["docs/console.md"]
        )
    assert drumbeat.ok("campaign", "status", "spring", "--json").json["recipients"] == len(ROWS) - 1


@pytest.mark.parametrize("page", WITH_BLOCKS)
def test_no_page_is_forgotten(page: str) -> None:
    folder = page.rpartition("/")[0]
    assert sum(name in table for table in (FOLLOWED, ELSEWHERE, NOT_RUN) for name in (page, folder)) == 1


def test_the_tables_name_nothing_that_is_gone() -> None:
    assert all((ROOT / test).exists() for test in ELSEWHERE.values())
    assert {*FOLLOWED, *NOT_RUN} <= set(WITH_BLOCKS)
    for page, left_out in LEFT_OUT.items():
        first = {lines(block)[0] for block in blocks((ROOT / page).read_text("utf-8"))}
        assert left_out.keys() <= first
