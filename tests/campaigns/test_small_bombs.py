"""Small files that would fill the memory: they are refused, or read in parts."""

import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path

import orjson
import pyarrow
import pyarrow.parquet
import pytest

from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.formats import Packing, recognise
from drumbeat.campaigns.audience.open.json_lines import spool_json_lines
from drumbeat.campaigns.audience.open.parquet import spool_parquet
from drumbeat.campaigns.audience.open.spool import Spool

MIB = 1 << 20


def peak_bytes(work: Callable[[], object]) -> int:
    """The most memory that Python's objects took at once while the work was done."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def write_bomb(path: Path, member: str, method: int) -> None:
    with zipfile.ZipFile(path, "w", method) as archive, archive.open(member, "w") as content:
        for _ in range(64):
            content.write(bytes(MIB))


def test_an_archive_that_calls_a_bomb_its_type_is_not_unpacked(tmp_path: Path) -> None:
    bomb = tmp_path / "customers.zip"
    write_bomb(bomb, "mimetype", zipfile.ZIP_DEFLATED)
    with bomb.open("rb") as file:
        assert peak_bytes(lambda: recognise(file, bomb.name)) < MIB


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
@pytest.mark.parametrize("member", ["customers.csv", "xl/workbook.xml", "mimetype"])
def test_an_archive_that_would_be_unpacked_as_a_whole_is_refused(
    member: str, method: int, tmp_path: Path
) -> None:
    bomb = tmp_path / "customers.zip"
    write_bomb(bomb, member, method)

    def check() -> None:
        with pytest.raises(UnreadableAudience, match=r"by a rare method.*deflate"):
            inspect_audience(bomb, rejects_path=tmp_path / "bad.csv", rules=RowRules())

    assert peak_bytes(check) < 8 * MIB


def test_a_type_that_was_packed_again_is_still_read(tmp_path: Path) -> None:
    path = tmp_path / "customers.ods"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", "<x/>")
    with path.open("rb") as file, pytest.raises(UnreadableAudience, match="ODT"):
        recognise(file, path.name)


def test_an_archive_with_an_encrypted_type_ends_no_process(tmp_path: Path) -> None:
    path = tmp_path / "customers.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("customers.csv", "phone\n+14155550101\n")
    content = bytearray(path.read_bytes())
    content[content.index(b"PK\x01\x02") + 8] |= 1  # the first member's flags in the directory
    path.write_bytes(content)
    with path.open("rb") as file:
        assert recognise(file, path.name) is Packing.ZIP


def test_long_lines_of_json_are_held_a_few_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "customers.jsonl"
    line = orjson.dumps({"phone": "+14155550101", "note": "x" * (MIB - 100)}) + b"\n"
    path.write_bytes(line * 48)
    with path.open("rb") as file, Spool(path.name) as spool:
        assert peak_bytes(lambda: spool_json_lines(file, spool)) < 32 * MIB
        assert spool.file.tell() > 47 * MIB


def test_too_many_columns_are_refused_before_rows_of_that_width_are_made(tmp_path: Path) -> None:
    path = tmp_path / "customers.jsonl"
    path.write_bytes(orjson.dumps({f"c{number}": "" for number in range(20_000)}) + b"\n" + b"{}\n" * 2_000)
    with (
        path.open("rb") as file,
        Spool(path.name) as spool,
        pytest.raises(UnreadableAudience, match="20,000 columns"),
    ):
        spool_json_lines(file, spool)


def test_too_many_columns_of_parquet_are_refused_before_a_row_is_read(tmp_path: Path) -> None:
    path = tmp_path / "customers.parquet"
    columns = {f"c{number}": ["x"] for number in range(1_001)}
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    with path.open("rb") as file, Spool(path.name) as spool:
        with pytest.raises(UnreadableAudience, match="1,001 columns"):
            spool_parquet(file, spool)
        assert spool.file.tell() == 0


def test_a_long_text_that_a_dictionary_repeats_is_unpacked_in_small_parts(tmp_path: Path) -> None:
    path = tmp_path / "customers.parquet"
    rows = 3_000
    notes = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0] * rows, pyarrow.int32()), pyarrow.array(["x" * 30_000])
    )
    pyarrow.parquet.write_table(pyarrow.table({"phone": ["+14155550101"] * rows, "note": notes}), path)
    with path.open("rb") as file, Spool(path.name) as spool:
        assert peak_bytes(lambda: spool_parquet(file, spool)) < 48 * MIB
        assert spool.file.tell() > 85 * MIB
