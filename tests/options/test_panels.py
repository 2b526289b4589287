"""Every option of a campaign stands in one panel of the help, in all commands that take them."""

import pytest

from drumbeat.campaigns.options.table import OPTIONS
from tests.cli.test_help import ALL

PANELS = list(dict.fromkeys(option.row.panel for key, option in OPTIONS.items() if key != "name"))


def test_the_options_of_a_panel_stand_together() -> None:
    """The help of typer shows panels in the order in which it meets them."""
    in_order = [option.row.panel for key, option in OPTIONS.items() if key != "name"]
    assert in_order == sorted(in_order, key=PANELS.index)


@pytest.mark.parametrize("command", ["campaign create", "campaign apply", "campaign clone", "campaign edit"])
def test_the_help_shows_every_panel_once(
    command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        ALL[command].main(["--help"], prog_name="drumbeat")
    printed = capsys.readouterr().out
    assert [printed.count(f" {panel} ─") for panel in PANELS] == [1] * len(PANELS)


def test_a_command_without_groups_keeps_its_options_in_one_list(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        ALL["audience check"].main(["--help"], prog_name="drumbeat")
    assert " Audience ─" not in capsys.readouterr().out
