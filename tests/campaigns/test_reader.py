"""Rows with the line where they start; a broken row costs itself and nothing else."""

import csv
import io
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.campaigns.audience.open import encoding, reader
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.reader import AudienceReader, open_audience
from drumbeat.campaigns.options.sources import AS_IT_IS, ReadOptions
from tests.campaigns.conftest import WriteAudience

Rows = list[tuple[int, list[str]]]
Rejects = list[tuple[int, str]]


def read(path: Path, options: ReadOptions = AS_IT_IS) -> tuple[AudienceReader, Rows, Rejects]:
    rows: Rows = []
    rejects: Rejects = []
    with open_audience(path) as file:
        audience = AudienceReader(file, str(path), options)
        for batch in audience.batches():
            rows += zip(batch.lines, batch.rows, strict=True)
            rejects += [(reject.line, reject.code) for reject in batch.rejects]
    return audience, rows, rejects


@pytest.fixture(params=[5, 16, 1 << 20], ids=["chunks of 5", "chunks of 16", "one chunk"])
def chunk_bytes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Every promise holds wherever the file is cut."""
    monkeypatch.setattr(encoding, "CHUNK_BYTES", request.param)
    monkeypatch.setattr(reader, "HEAD_CHARACTERS", 24)
    return int(request.param)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_delimiters_and_line_ends(
    delimiter: str, end: str, chunk_bytes: int, write_audience: WriteAudience
) -> None:
    lines = ["phone,name", "1,Ana", "2,Bob", "3,Eve"]
    audience, rows, rejects = read(write_audience(end.join(lines).replace(",", delimiter)))

    assert audience.dialect.delimiter == delimiter
    assert audience.header == ["phone", "name"]
    assert rows == [(2, ["1", "Ana"]), (3, ["2", "Bob"]), (4, ["3", "Eve"])]
    assert rejects == []


def test_the_delimiter_excel_writes_first_is_obeyed(chunk_bytes: int, write_audience: WriteAudience) -> None:
    audience, rows, _ = read(write_audience("sep=;\r\nphone;a,b,c\r\n1;x\r\n"))

    assert (audience.dialect.delimiter, audience.header) == (";", ["phone", "a,b,c"])
    assert rows == [(3, ["1", "x"])]


def test_a_delimiter_in_a_quoted_name_does_not_count(write_audience: WriteAudience) -> None:
    audience, rows, _ = read(write_audience('phone;"name, first, or nick, or none"\n1;Ana\n'))

    assert (audience.dialect.delimiter, rows) == (";", [(2, ["1", "Ana"])])


def test_quoted_line_breaks_keep_the_lines_right(chunk_bytes: int, write_audience: WriteAudience) -> None:
    text = 'phone,note\n1,"one\ntwo\r\nthree"\n2,"with ""quotes"", and comma"\n3,"a\n\nb"\n4,plain\n'
    _, rows, rejects = read(write_audience(text))

    assert rows == [
        (2, ["1", "one\ntwo\r\nthree"]),
        (5, ["2", 'with "quotes", and comma']),
        (6, ["3", "a\n\nb"]),
        (9, ["4", "plain"]),
    ]
    assert rejects == []


def test_missing_cells_are_empty_and_only_filled_ones_are_too_many(
    chunk_bytes: int, write_audience: WriteAudience
) -> None:
    _, rows, rejects = read(write_audience("a,b\n1,2\n1\n1,2,3\n3,4\n5,6,, \n"))

    assert rows == [(2, ["1", "2"]), (3, ["1", ""]), (5, ["3", "4"]), (6, ["5", "6"])]
    assert rejects == [(4, "row_shape")]


def test_blank_lines_are_no_rows_but_are_counted_as_lines(
    chunk_bytes: int, write_audience: WriteAudience
) -> None:
    _, rows, rejects = read(write_audience('\n\na,b\n\n1,2\n\n"3",4\n   \n,,,,\n'))

    assert rows == [(5, ["1", "2"]), (7, ["3", "4"])]
    assert rejects == []


def test_a_cell_never_closed_does_not_swallow_the_file(
    chunk_bytes: int, write_audience: WriteAudience
) -> None:
    good = [f"{line},name" for line in range(3, 200)]
    _, rows, rejects = read(write_audience("\n".join(["phone,name", '2,"Ana', *good]) + "\n"))

    assert rejects == [(2, "row_quotes")]
    assert rows == [(line, [str(line), "name"]) for line in range(3, 200)]


def test_a_cell_never_closed_is_no_large_cell(write_audience: WriteAudience) -> None:
    rows = (csv.field_size_limit() // 10 + 1_000) * ["3,some name"]
    _, found, rejects = read(write_audience("\n".join(["phone,name", '2,"Ana', *rows])))

    assert (rejects, len(found)) == ([(2, "row_quotes")], len(rows))


def test_byte_order_marks_in_the_text_are_no_part_of_the_header(
    chunk_bytes: int, write_audience: WriteAudience
) -> None:
    audience, rows, _ = read(write_audience('\ufeff\ufeff"phone",name\n1,Ana\n', encoding="utf-8-sig"))

    assert (audience.header, rows) == (["phone", "name"], [(2, ["1", "Ana"])])


def test_a_header_that_is_no_text_is_refused(write_audience: WriteAudience) -> None:
    with pytest.raises(UnreadableAudience, match=r"read as UTF-8, holds NUL.*line 2.*UTF-8"):
        read(write_audience("\nphone\x00,name\n1,Ana\n"))


def test_a_stray_quote_that_meets_another_far_below_costs_only_its_line(
    chunk_bytes: int, write_audience: WriteAudience
) -> None:
    lines = ["phone,name", '2,"Ana', "3,Bob", "4,Eve", '5,"Zoe', "6,Max"]
    _, rows, rejects = read(write_audience("\n".join(lines)))

    assert rejects == [(2, "row_quotes"), (5, "row_quotes")]
    assert [line for line, _ in rows] == [3, 4, 6]


def test_a_stray_quote_closed_by_a_proper_cell_costs_only_its_line(
    chunk_bytes: int, write_audience: WriteAudience
) -> None:
    lines = ["phone,name,x", '2,"Ana,x', "3,Bob,x", '4,"Eve","x"', "5,Max,x"]
    _, rows, rejects = read(write_audience("\n".join(lines)))

    assert [line for line, _ in rejects] == [2]
    assert [line for line, _ in rows] == [3, 4, 5]


def test_quotes_inside_an_unquoted_cell_are_text(write_audience: WriteAudience) -> None:
    _, rows, rejects = read(write_audience('a,b\n1,Ana "Nana" Silva\n'))

    assert (rows, rejects) == ([(2, ["1", 'Ana "Nana" Silva'])], [])


def test_a_cell_above_the_limit_costs_its_row(write_audience: WriteAudience) -> None:
    huge = "x" * (csv.field_size_limit() + 1)
    _, rows, rejects = read(write_audience(f"a,b\n1,{huge}\n2,ok\n"))

    assert (rows, rejects) == ([(3, ["2", "ok"])], [(2, "cell_size")])


def test_a_line_that_never_ends_is_refused(
    write_audience: WriteAudience, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "LINE_CHARACTERS_MAX", 1000)
    with pytest.raises(UnreadableAudience, match=r"line 3 is longer than 1,000"):
        read(write_audience("a,b\n1,2\n" + "x" * 2000))


def test_a_row_that_spans_more_lines_than_the_limit_is_rejected(
    write_audience: WriteAudience, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding, "CHUNK_BYTES", 64)
    monkeypatch.setattr(reader, "HEAD_CHARACTERS", 24)
    monkeypatch.setattr(reader, "ROW_CHARACTERS_MAX", 256)
    held: list[int] = []

    def watched(rest: reader.Piece | None, following: reader.Piece) -> reader.Piece:
        held.append(len(rest.text) if rest else 0)
        return original(rest, following)

    original = reader.joined
    monkeypatch.setattr(reader, "joined", watched)
    good = [f"{line},name" for line in range(3, 400)]
    _, rows, rejects = read(write_audience("\n".join(["phone,name", '2,"Ana', *good])))

    assert rejects == [(2, "row_quotes")]
    assert len(rows) == len(good)
    assert 0 < max(held) <= 256


def test_a_file_without_a_header_is_refused(write_audience: WriteAudience) -> None:
    for content in ("", "\n\n  \n"):
        with pytest.raises(UnreadableAudience, match="empty"):
            read(write_audience(content))


def test_a_missing_file_and_a_directory_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnreadableAudience, match=r"audience file does not exist.*nobody\.csv"):
        open_audience(tmp_path / "nobody.csv")
    with pytest.raises(UnreadableAudience, match="directory"):
        open_audience(tmp_path)


def test_a_named_pipe_is_refused_without_waiting_for_a_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UnreadableAudience, match="must be a regular file"):
        open_audience(tmp_path / "pipe")


cells = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=12)


@given(st.lists(st.tuples(cells.filter(str.strip), cells, cells)), st.sampled_from([7, 64, 1 << 20]))
def test_whatever_the_csv_module_writes_is_read_back(
    rows: list[tuple[str, str, str]], chunk_bytes: int
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["one", "two", "three"])
    writer.writerows(rows)
    path = Path.cwd() / "scratch.csv"
    path.write_bytes(text.getvalue().encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(encoding, "CHUNK_BYTES", chunk_bytes)
        patch.setattr(reader, "HEAD_CHARACTERS", 24)
        _, found, rejects = read(path, ReadOptions(keep_spaces=True))
    assert [tuple(row) for _, row in found] == rows
    assert rejects == []
