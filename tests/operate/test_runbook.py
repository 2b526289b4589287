"""The runbook: procedures.md, command for command, and a row for every reason code and exit code."""

import re
from pathlib import Path

import pytest

from drumbeat.engine.core.states import REASONS, ReasonCode
from drumbeat.engine.errors import DrumbeatError
from tests.cli.processes import Drumbeat
from tests.operate.campaign import NAME, judge, planned, receiving
from tests.operate.pages import PAGES
from tests.operate.runbook import Shell

RECIPIENTS = 3_000
PHONE = "5511980000000"  # the first of the audience, so it is sent to first
PLACEHOLDERS = {
    "NAME": NAME,
    "PNID": "1",
    "PHONE": PHONE,
    "webhooks serve": "webhooks serve --port 0",  # any free one: tests run at the same time
    "console serve": "console serve --port 0 --metrics-port 0",
}


def rows(page: str, first_cell: str) -> dict[str, list[str]]:
    """The rows of a page's tables whose first cell has this form, by that cell; of two the first."""
    text = (PAGES / page).read_text("utf-8")
    split = [re.split(r" (?<!\\)\| ", line.strip("| ")) for line in text.splitlines() if line[:1] == "|"]
    return {cells[0]: cells[1:] for cells in reversed(split) if re.fullmatch(first_cell, cells[0])}


def test_every_reason_code_has_its_row_with_the_exit_code_of_a_run() -> None:
    found = {code: cells for code, cells in rows("reason-codes.md", r"`\w+`").items() if len(cells) == 4}
    assert set(found) == {f"`{code}`" for code in ReasonCode}
    for code, reason in REASONS.items():
        meaning, ends, command, exit_code = found[f"`{code}`"]
        assert exit_code == str(reason.error.exit_code), code
        meaning = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", meaning)
        assert meaning.startswith(reason.meaning.split(",")[0]), code
        assert ends, code
        assert "`drumbeat " in command, code


def test_every_exit_code_has_its_row_with_what_to_do() -> None:
    found = rows("exit-codes.md", r"\d[\d, ]*")
    listed = {int(code) for cell in found for code in cell.split(",")}
    raised = {error.exit_code for error in (DrumbeatError, *DrumbeatError.__subclasses__())}
    assert raised | {0, 129, 130, 141, 143} == listed
    assert all(len(cells) == 2 and cells[1] for cells in found.values())


def test_the_index_leads_to_every_page_of_the_folder() -> None:
    linked = re.findall(r"\]\(([\w-]+\.md)", (PAGES / "README.md").read_text("utf-8"))
    assert {page.name for page in PAGES.glob("*.md")} - {"README.md"} == set(linked)


@pytest.mark.long
def test_the_procedures_with_a_campaign_in_flight(drumbeat: Drumbeat, database_url: str) -> None:
    drumbeat.settings["database_url"] = database_url
    with planned(drumbeat, RECIPIENTS, status_delay_s=0) as campaign:
        shell = Shell("procedures.md", drumbeat, PLACEHOLDERS)
        shell.follow("Start")
        campaign.await_accepted(100)
        shell.follow("Stop")
        for name, process in shell.processes.items():
            assert process.wait() == 143, f"{name} ends in order"
        assert "unknown" not in campaign.states().values(), "nobody is in doubt"

        shell.follow("Move a number to another process or machine")
        campaign.await_accepted(campaign.service.accepted() + 50)
        shell.follow("Move a number to another account")
        shell.follow("A number was stopped")
        shell.follow("The service is degraded")
        shell.follow("The database is full")
        with receiving(campaign):
            campaign.await_finished()
            campaign.await_events()
        check_look_up(shell.follow("A customer says she got it twice"), drumbeat.directory)
        assert shell.left == []
        judge(campaign)
        assert len(campaign.reached()) == RECIPIENTS


def check_look_up(printed: str, directory: Path) -> None:
    """One row of an attempt, with the id of the message; and the same in the export."""
    (row,) = [line for line in printed.splitlines() if "wamid." in line and line.strip().startswith(NAME)]
    (wamid,) = re.findall(r"wamid\.\S+", row)
    exported = (directory / f"{NAME}.csv").read_text("utf-8")
    assert re.search(rf"^\+{PHONE},\w+,.*,{re.escape(wamid)},", exported, re.MULTILINE)
