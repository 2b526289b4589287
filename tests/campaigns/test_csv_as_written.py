"""CSV as programs and people write it: quotes, missing cells, titles, and files that are no table."""

import io
import zipfile
from pathlib import Path

import pytest

from drumbeat.campaigns.audience.check.columns import MissingColumn, column_index
from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.audience.open import encoding, reader
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.options.sources import ReadOptions
from tests.campaigns.conftest import WriteAudience

Rows = list[tuple[int, list[str]]]


def read(
    path: Path, options: ReadOptions | None = None
) -> tuple[list[str], Rows, list[tuple[int, str, str]]]:
    with open_table(path, options or ReadOptions()) as source:
        table = source.table()
        batches = list(table.batches())
    rows = [found for batch in batches for found in zip(batch.lines, batch.rows, strict=True)]
    return (
        table.header,
        rows,
        [(each.line, each.code, each.note) for batch in batches for each in batch.rejects],
    )


READ_RIGHT = {
    "spaces before quotes": (
        'phone, name, note\n1, "Mia", "one, two"\n2,"Noa","x"\n',
        [["1", "Mia", "one, two"], ["2", "Noa", "x"]],
    ),
    "spaces behind quotes": ('phone,name,note\n1,"Mia" ,"one, two"\t\n', [["1", "Mia", "one, two"]]),
    "spaces before quotes far below": (
        "phone;name\n" + "1;Mia\n" * 40 + '2; "Noa; the second"\n',
        [*[["1", "Mia"]] * 40, ["2", "Noa; the second"]],
    ),
    "a quoted word in a text": ('phone,name,note\n1, "Mia" Maria, x\n', [["1", ' "Mia" Maria', " x"]]),
    "escaped quotes": (
        'phone,name,note\n1,"Mia \\"M\\" Roth","a, b"\n2,"Noa","\\"x\\""\n',
        [["1", 'Mia "M" Roth', "a, b"], ["2", "Noa", '"x"']],
    ),
    "escaped quotes in a text of two lines": (
        'phone\tname\n1\t"say \\"hi\\"\nand \\"bye\\""\n2\tNoa\n',
        [["1", 'say "hi"\nand "bye"'], ["2", "Noa"]],
    ),
    "escaped quotes and backslashes": (
        'phone,name,file\n1,"\\"M\\"","C:\\\\x"\n2,\\N,"y"\n',
        [["1", '"M"', "C:\\x"], ["2", "\\N", "y"]],
    ),
    "one row with escaped quotes, far below": (
        "phone,name\n" + '1,"Mia ""M"""\n' * 40 + '2,"Noa \\"N\\" K"\n',
        [*[["1", 'Mia "M"']] * 40, ["2", 'Noa "N" K']],
    ),
    "a path that ends in a backslash": ('phone,file,x\n1,"C:\\dir\\","y"\n', [["1", "C:\\dir\\", "y"]]),
    "rows without their last cells": (
        "phone;a;b\n1;x;y\n2;x\n3\n",
        [["1", "x", "y"], ["2", "x", ""], ["3", "", ""]],
    ),
    "separators at the end": ("phone;a\n1;x;;\n2;y; \n", [["1", "x"], ["2", "y"]]),
    "separators at the end of the header too": (
        "phone;a;;\n1;x;;\n2;y\n",
        [["1", "x", "", ""], ["2", "y", "", ""]],
    ),
    "rows of separators above": (';;\n"";\n\nphone;name\n1;Mia\n', [["1", "Mia"]]),
    "rows of separators below the hint": ("sep=,\n,,\nphone,name\n1,Mia\n", [["1", "Mia"]]),
    "one column": ("phone\n1\n2\n", [["1"], ["2"]]),
    "a note that looks like a header": (
        'phone,note\n1,"Call.\n\nPhone, then mail"\n',
        [["1", "Call.\n\nPhone, then mail"]],
    ),
    "a blank line between rows": ("phone,name\n1,Mia\n\n2,Noa\n", [["1", "Mia"], ["2", "Noa"]]),
}


@pytest.mark.parametrize("chunk_bytes", [9, 1 << 20])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("kind", READ_RIGHT)
def test_every_row_is_read(
    kind: str, end: str, chunk_bytes: int, write_audience: WriteAudience, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "CHUNK_BYTES", chunk_bytes)
    monkeypatch.setattr(reader, "HEAD_CHARACTERS", 200)
    text, expected = READ_RIGHT[kind]
    _, rows, rejects = read(write_audience(text.replace("\n", end)))

    assert [row for _, row in rows] == [[cell.replace("\n", end) for cell in row] for row in expected]
    assert rejects == []


def test_what_fits_no_reading_is_rejected_with_its_reason(write_audience: WriteAudience) -> None:
    text = 'phone,name\n1,"say \\"hi\\" x" y\n2,a,b\n3,"open\n4,Mia\n'
    _, rows, rejects = read(write_audience(text))

    assert rejects == [(2, "row_backslash", ""), (3, "row_shape", "3, not 2"), (4, "row_quotes", "")]
    assert rows == [(5, ["4", "Mia"])]


def test_a_quote_closed_too_late_takes_no_row_with_it(write_audience: WriteAudience) -> None:
    _, rows, rejects = read(write_audience('a,b,c\n1,"x,y\n2,x,y\n3,x,y"\n'))

    assert [line for line, _ in rows] == [3, 4]
    assert rejects == [(2, "row_shape", "2, not 3")]


def test_spaces_stay_before_a_cell_on_request(write_audience: WriteAudience) -> None:
    path = write_audience("phone,name\n1, Mia\n")
    assert read(path, ReadOptions(keep_spaces=True))[1] == [(2, ["1", " Mia"])]
    assert read(path)[1] == [(2, ["1", "Mia"])]
    path = write_audience('phone,name\n1, Mia\n2, "Noa, N"\n')
    assert read(path, ReadOptions(keep_spaces=True))[1] == [(2, ["1", "Mia"]), (3, ["2", "Noa, N"])]


@pytest.mark.parametrize("header", ["phone\r", " phone ", "\ufeffphone", "\tphone\xa0", '"phone"', "“Phone”"])
def test_a_name_in_the_header_is_found_whatever_is_around_it(
    header: str, write_audience: WriteAudience
) -> None:
    found, _, _ = read(write_audience(f"name,{header}\nMia,1\n"))
    assert column_index(found, "phone", where="") == 1


NO_TABLE = {
    "a title": (
        "Customers in May;;\nphone;name\n1;Mia\n",
        r'line 1 holds only "Customers in May", perhaps a title',
    ),
    "a title in two lines": ("Shop Ltd\nMay 2026\n\nphone,name\n1,Mia\n2,Noa\n", 'holds only "Shop Ltd"'),
    "a quoted title": ('"Sales, May"\n\nphone,name\n1,Mia\n', 'holds only "Sales, May"'),
    "two tables with titles": (
        "Table A\nphone,name\n1,Mia\n\nTable B\nname,phone\nNoa,2\n",
        "two tables; the second begins in line 5.*a file of its own",
    ),
    "two tables without titles": ("phone,name\n1,Mia\n\nname,city\nNoa,Rome\n", "two tables.*line 4"),
    "a second table with a title": (
        "phone,name\n1,Mia\n\nVisitors\nphone,city\n2,Rome\n",
        "two tables.*line 4",
    ),
}


@pytest.mark.parametrize("kind", NO_TABLE)
def test_what_is_not_one_table_is_refused(kind: str, write_audience: WriteAudience) -> None:
    text, said = NO_TABLE[kind]
    with pytest.raises(UnreadableAudience, match=said):
        read(write_audience(text))


def archive(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, content in members.items():
            made.writestr(name, content)
    return file.getvalue()


FOREIGN: dict[str, tuple[bytes, str]] = {
    "a contact file": (b"BEGIN:VCARD\r\nFN:Mia\r\nEND:VCARD\r\n", r"a contact file \(vCard\)"),
    "a contact file with a mark": (b"\xef\xbb\xbf\r\nbegin:vcard\r\n", r"a contact file \(vCard\)"),
    "a calendar": (b"BEGIN:VCALENDAR\r\n", "a calendar"),
    "a saved web page": (
        b"\n<!-- saved from url=(0020)http://a.example/ -->\n<html>",
        r"a web page \(HTML\)",
    ),
    "a web page in UTF-16": ("\ufeff<table><tr>".encode("utf-16-le"), r"a web page \(HTML\)"),
    "a web archive": (b"MIME-Version: 1.0\r\nContent-Type: multipart/related", "MIME"),
    "an array of JSON": (b'[\n {"phone": "1"}\n]', "one JSON array, not JSON Lines"),
    "an SQL script": (b"INSERT INTO people VALUES (1);\n", "an SQL script"),
    "a PDF": (b"%PDF-1.4\n%\xe2\xe3", "a PDF"),
    "a text document": (
        archive(**{"mimetype": b"application/vnd.oasis.opendocument.text", "content.xml": b"<x/>"}),
        "ODT",
    ),
    "a Word document": (archive(**{"word/document.xml": b"<x/>"}), "a Word document"),
    "a document of Numbers": (archive(**{"Index/Document.iwa": b"x"}), "Numbers"),
    "an Access database": (b"\x00\x01\x00\x00Standard ACE DB\x00" + bytes(60), "an Access database"),
}


@pytest.mark.parametrize("name", ["people.csv", "people.txt"])
@pytest.mark.parametrize("kind", FOREIGN)
def test_what_is_no_table_is_named(kind: str, name: str, write_audience: WriteAudience) -> None:
    content, said = FOREIGN[kind]
    with pytest.raises(UnreadableAudience, match=f"this is {said}|{said}"):
        read(write_audience(content, name))


@pytest.mark.parametrize("header", ["ORCID,phone", "BMI,phone", "MZ,phone", "id;phone"])
def test_a_table_that_begins_like_something_else_is_read(header: str, write_audience: WriteAudience) -> None:
    found, rows, _ = read(write_audience(f"{header}\n1,2\n"))
    assert len(found) == 2
    assert len(rows) == 1


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("Report:;May\nDate:;2026-05-01\nphone;name;x\n+14155550100;Mia;1\n", "line 3 names it"),
        ("Customers, May 2026\nphone;name\n+14155550100;Mia\n", "line 2 names it"),
        ("----,----\nphone,name\n+14155550100,Mia\n", "line 2 names it"),
        ("+14155550100,Mia\n+14155550101,Noa\n", "the first line holds a phone"),
        ("number,name\n+14155550100,Mia\n", 'phone_column "number"'),
    ],
)
def test_a_missing_column_is_looked_for_in_the_rows(text: str, remedy: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(MissingColumn, match=remedy):
        inspect_audience(path, rejects_path=tmp_path / "b.csv")
