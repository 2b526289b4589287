"""What commands print: no control character from a file, the service or a person, and no secret in an error."""

import json
from pathlib import Path

import pytest

from drumbeat.campaigns.cli import main
from drumbeat.campaigns.cli.printing import print_json
from drumbeat.campaigns.cli.template_text import _component_lines
from drumbeat.engine.core.sanitise import CONTROLS
from tests.cli.processes import Drumbeat

HOSTILE = "a\x1b]0;title\x07\x9b2Jb\x7f"


def test_an_error_is_a_line_without_controls(capsys: pytest.CaptureFixture[str]) -> None:
    assert main._print_error(f"column {HOSTILE}\nis not there", 78) == 78
    assert capsys.readouterr().err == "drumbeat: column a]0;title2Jb is not there\n"


def test_an_unexpected_error_shows_no_phone_and_no_password(capsys: pytest.CaptureFixture[str]) -> None:
    """It may quote a row of the database."""
    quoted = "(phone)=(5511987654321) of postgresql://u:hush-hush-1234@db/x"
    assert main._print_unexpected(LookupError(quoted), ()) == 1
    assert "(phone)=(***4321) of postgresql://u:***@db/x" in capsys.readouterr().err


def test_a_template_is_shown_line_by_line() -> None:
    body = {"type": "BODY\x1b", "text": f"Hello\n{HOSTILE}"}
    assert list(_component_lines(body)) == ["  body: Hello\na]0;title2Jb"]
    buttons = {"type": "BUTTONS", "buttons": [{"text": HOSTILE}, {"text": 7}]}
    assert list(_component_lines(buttons)) == ["  button 0: a]0;title2Jb ()", "  button 1: 7 ()"]


def test_json_keeps_a_text_and_shows_no_control(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": HOSTILE})
    line = capsys.readouterr().out.removesuffix("\n")
    assert CONTROLS.isdisjoint(line)
    assert json.loads(line) == {"text": HOSTILE}


def test_columns_of_a_file_are_shown_without_controls(tmp_path: Path) -> None:
    (tmp_path / "people.csv").write_text(f"phone,{HOSTILE}\n5511960000001,x\n", encoding="utf-8")
    done = Drumbeat(tmp_path, {"home": str(tmp_path)}).ok("audience", "check", "people.csv")
    assert "columns: phone, a]0;title2Jb\n" in done.stdout
