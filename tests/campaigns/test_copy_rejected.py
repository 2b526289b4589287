"""The rejected rows of a file, copied to be corrected: these rows and no others."""

import csv
import io
from pathlib import Path

import pytest

from drumbeat.campaigns.audience.check.copy_rejected import copy_rejected
from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.audience.check.reject_file import RejectFile
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.options.sources import ReadOptions
from drumbeat.campaigns.reject import Reject
from drumbeat.engine.errors import ConfigurationError
from tests.campaigns.conftest import WriteAudience

HEADING = "Name;Telefon;Notiz;variable_1"
GOOD = "Ana;+5511980000001;;A"
ROWS = [
    GOOD,
    '"Zoë\r\nMüller";12;"sagt ""hallo""; gern";A',  # two lines
    "",
    "=1+1;+5511980000002;;",
    "kurz;+5511980000003",
    ";;;",
    'José;"+5511980000004;;A',  # never closed
    "Änne;+5511980000005;;'=1    ",
    "Bia;+5511980000006;;'=1     x",  # as an export marks a formula
    "Caio;+55 11 98000-0001;;C",  # a duplicate of the first
]
PARAMS = ("Name", "variable_1")
WESTERN = ReadOptions(encoding="cp1252")


@pytest.fixture
def audience(write_audience: WriteAudience) -> Path:
    return write_audience("\r\n".join((HEADING, *ROWS)) + "\r\n", encoding="cp1252")


@pytest.fixture
def listed(audience: Path, tmp_path: Path) -> Path:
    path = tmp_path / "listed.csv"
    inspect_audience(audience, rejects_path=path, rules=RowRules("Telefon", PARAMS), options=WESTERN)
    with path.open("a", encoding="utf-8", newline="") as file:  # as the plan of a campaign does
        csv.writer(file).writerow((13, "duplicate", "Telefon", "it is known", "'+55 11 98000-0001"))
    return path


def test_the_rows_that_were_refused_are_copied_as_they_stand(audience: Path, listed: Path) -> None:
    file = io.StringIO(newline="")
    assert copy_rejected(audience, listed, file, WESTERN) == 5
    refused = [ROWS[1], ROWS[3], f"{ROWS[4]};;", ROWS[6], ROWS[8]]  # missing cells are empty ones
    assert file.getvalue() == "\r\n".join((HEADING, *refused)) + "\r\n"


def test_a_copy_that_is_corrected_is_an_audience(audience: Path, listed: Path, tmp_path: Path) -> None:
    file = io.StringIO(newline="")
    copy_rejected(audience, listed, file, WESTERN)
    text = file.getvalue().replace("\r\nMüller", " Müller").replace(";12;", ";+5511980000007;")
    text = text.replace(";;\r\n", ";;D\r\n").replace("0003;;D", "0003;;E").replace(';"+', ";+")
    corrected = tmp_path / "corrected.csv"
    corrected.write_text(text.replace("     x", " x"), encoding="utf-8", newline="")
    found = inspect_audience(corrected, rejects_path=tmp_path / "none.csv", rules=RowRules("Telefon", PARAMS))
    assert (found.good, found.rejected, found.duplicates) == (5, 0, 0)


def test_a_list_that_a_spreadsheet_saved_again_is_read(audience: Path, listed: Path) -> None:
    rows = list(csv.reader(listed.open(encoding="utf-8-sig", newline="")))
    with listed.open("w", encoding="cp1252", newline="") as file:
        csv.writer(file, delimiter=";").writerows(rows)
    file = io.StringIO(newline="")
    assert copy_rejected(audience, listed, file, WESTERN) == 5


@pytest.mark.parametrize(
    "changed",
    [
        [GOOD, *ROWS],  # a row more, which moves those below it
        [row.replace("12;", "+5511980000007;") for row in ROWS],  # corrected in the file itself
        ROWS[:4],
    ],
)
def test_a_file_that_has_changed_since_is_refused(
    write_audience: WriteAudience, audience: Path, listed: Path, changed: list[str]
) -> None:
    """Its good rows would be copied, and their people would get a second message."""
    write_audience("\r\n".join((HEADING, *changed)) + "\r\n", name=audience.name, encoding="cp1252")
    with pytest.raises(ConfigurationError, match=r"does not match this file as it is now.*audience check"):
        copy_rejected(audience, listed, io.StringIO(), WESTERN)


def test_what_is_no_list_is_refused(audience: Path) -> None:
    with pytest.raises(ConfigurationError, match="not a list of rejected rows"):
        copy_rejected(audience, audience, io.StringIO(), WESTERN)


def test_a_list_of_more_than_anybody_corrects_is_refused(
    audience: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumbeat.campaigns.audience.check.copy_rejected.LISTED_MAX", 2)
    path = tmp_path / "many.csv"
    with RejectFile(path, audience) as rejects:
        rejects.add(Reject(line, "row_shape", "", "x") for line in range(2, 5))
        rejects.publish()
    with pytest.raises(ConfigurationError, match="more than 2 rows"):
        copy_rejected(audience, path, io.StringIO(), WESTERN)
