"""Every option of a campaign stands in one panel of the help, in all commands that take them."""

import pytest

from drumbeat.campaigns.options.campaign_spec import campaign_spec
from drumbeat.campaigns.options.listing import options_of
from drumbeat.campaigns.options.panels import PANELS
from tests.cli.test_help import ALL


def test_each_option_is_in_exactly_one_panel() -> None:
    listed = [parameter for parameters in PANELS.values() for parameter in parameters]
    assert sorted(listed) == sorted(
        option.parameter for option in options_of(campaign_spec) if option.parameter != "name"
    )


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
