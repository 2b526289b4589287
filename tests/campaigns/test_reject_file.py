"""The list of rejects: whole or not at all, and harmless in a spreadsheet."""

import csv
from pathlib import Path

import pytest

from drumbeat.campaigns.audience.check.reject_file import RejectFile, default_rejects_path, spreadsheet_safe
from drumbeat.campaigns.phones.normaliser import Normaliser
from drumbeat.campaigns.reject import REASONS, Reject
from drumbeat.engine.core.template.variable import check_variable
from drumbeat.engine.errors import ConfigurationError

AUDIENCE = Path("people.csv")


def test_it_lists_line_code_column_reason_and_value(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    with RejectFile(path, AUDIENCE) as rejects:
        rejects.add([Reject(7, "phone_empty", "phone", ""), Reject(9, "variable_tab", "name", "a\tb")])
        assert not path.exists()
        assert rejects.publish() == path

    rows = list(csv.reader(path.open(encoding="utf-8-sig", newline="")))
    assert rows[0] == ["line", "code", "column", "reason", "value"]
    assert rows[1:] == [
        ["7", "phone_empty", "phone", REASONS["phone_empty"], ""],
        ["9", "variable_tab", "name", REASONS["variable_tab"], "a\tb"],
    ]
    assert rejects.counts == {"phone_empty": 1, "variable_tab": 1}
    assert path.stat().st_mode & 0o077 == 0, "it holds phone numbers"


def test_leaving_without_publishing_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), RejectFile(tmp_path / "r.csv", AUDIENCE) as rejects:
        rejects.add([Reject(1, "row_shape", "", "x")])
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []


def test_without_rejects_an_older_list_goes_and_anything_else_stays(tmp_path: Path) -> None:
    path = tmp_path / "r.csv"
    with RejectFile(path, AUDIENCE) as rejects:
        rejects.add([Reject(1, "row_shape", "", "x")])
        rejects.publish()
    with RejectFile(path, AUDIENCE) as rejects:
        assert rejects.publish() is None
    assert not path.exists()

    path.write_text("my own notes\n")
    with RejectFile(path, AUDIENCE) as rejects:
        rejects.publish()
    assert path.read_text() == "my own notes\n"


@pytest.mark.parametrize("value", ["=1+1", "+5511", "-1", "@x", "  =1", "＝1"])
def test_formulas_are_quoted(value: str) -> None:
    assert spreadsheet_safe(value) == f"'{value}"


@pytest.mark.parametrize("separator", ["\t", "\r"])
def test_a_formula_behind_a_separator_is_quoted_as_well(separator: str) -> None:
    assert spreadsheet_safe(f"{separator}=1") == f"'{separator}'=1"


def test_a_column_is_quoted_as_a_value_is(tmp_path: Path) -> None:
    with RejectFile(tmp_path / "r.csv", AUDIENCE) as rejects:
        rejects.add([Reject(2, "variable_empty", "=1+1", "")])
        rejects.publish()
    assert "2,variable_empty,'=1+1," in (tmp_path / "r.csv").read_text("utf-8-sig")


def test_values_are_cut_and_without_nul() -> None:
    assert spreadsheet_safe("a\x00b") == "a\ufffdb"
    assert len(spreadsheet_safe("x" * 100_000)) == 200


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    path = tmp_path / "none" / "r.csv"
    with pytest.raises(ConfigurationError, match="rejects"), RejectFile(path, AUDIENCE) as rejects:
        rejects.add([Reject(1, "row_shape", "", "x")])


def test_the_default_lies_beside_the_audience(tmp_path: Path) -> None:
    audience = tmp_path / "in" / "people.csv"
    audience.parent.mkdir()
    audience.touch()
    assert default_rejects_path(audience) == tmp_path / "in" / "people.rejects.csv"
    assert default_rejects_path(Path("in/people.csv"), "check") == tmp_path / "in" / "people.check.csv"


@pytest.mark.parametrize("audience", ["/proc/self/fd/0", "/dev/stdin", "/nowhere/people.csv"])
def test_a_stream_or_a_directory_that_cannot_be_written_leaves_the_working_directory(
    tmp_path: Path, audience: str
) -> None:
    assert default_rejects_path(Path(audience)).parent == tmp_path


def test_every_problem_of_phones_and_variables_has_a_reason() -> None:
    phones = ["", "1e5", "x", "1", "9" * 40, "5511111", "5511111.0"]
    variables = ["", "a\nb", "a\tb", "a     b", "a\x00", "x" * 2000]
    codes = {str(Normaliser().normalise(phone)) for phone in phones}
    codes.add(str(Normaliser("DE").normalise("14000000000")))
    codes |= {f"variable_{check_variable(variable)}" for variable in variables}

    assert codes <= REASONS.keys()
    assert len(codes) == 14
