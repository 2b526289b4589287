"""What is refused as an audience: the sentence, the exit code, and nothing half-done."""

import gzip
import io
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import xlsxwriter

from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open import parquet, unpacking, workbook_reader
from drumbeat.campaigns.audience.open.one_at_a_time import one_at_a_time
from drumbeat.campaigns.options.sources import Format, ReadOptions
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.errors import ConfigurationError, DrumbeatError, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.audience_files import pack
from tests.campaigns.creating import everything

PASSWORD = Path(__file__).parent / "fixtures" / "password.xlsx"
CSV = b"phone,name\n+14155550101,Ada\n"
JSON = b'{"phone": "+14155550101", "name": "Ada"}\n'


def workbook(fill: Callable[[xlsxwriter.Workbook], object]) -> bytes:
    file = io.BytesIO()
    with xlsxwriter.Workbook(file, {"in_memory": True}) as made:
        fill(made)
    return file.getvalue()


def sheet(*rows: list[object]) -> bytes:
    def fill(made: xlsxwriter.Workbook) -> None:
        written = made.add_worksheet("Kunden")
        for number, row in enumerate(rows):
            written.write_row(number, 0, row)

    return workbook(fill)


def merged(made: xlsxwriter.Workbook) -> None:
    written = made.add_worksheet("Kunden")
    written.merge_range("B1:D1", "Kundenliste")
    written.write_row(1, 0, ["phone", "name"])


def merged_header(made: xlsxwriter.Workbook) -> None:
    written = made.add_worksheet("Kunden")
    written.merge_range("A1:B1", "phone")
    written.write_row(1, 0, ["1", "Ada"])


def two_sheets(made: xlsxwriter.Workbook) -> None:
    for name in ("Mai", "Juni"):
        made.add_worksheet(name).write_row(0, 0, ["phone"])


def zipped(*names: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(name, "<w/>")
    return file.getvalue()


def two_files() -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("a.csv", CSV)
        archive.writestr("b.csv", CSV)
    return file.getvalue()


def nested_parquet() -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table({"phone": ["1"], "tags": [["a"]]}), file)
    return file.getvalue()


REFUSED: dict[str, tuple[str, bytes, str]] = {
    "a picture renamed": (
        "a.csv",
        b"\x89PNG\r\n\x1a\n" + bytes(50),
        r"a picture \(PNG\), not a table .*a\.csv\)",
    ),
    "a web page named as a workbook": ("a.xls", b"\xef\xbb\xbf <!DOCTYPE html><table>", "a web page"),
    "a binary workbook": ("a.xlsb", zipped("xl/workbook.bin"), r"binary workbook \(XLSB\).*save it as XLSX"),
    "a Word document": ("a.xlsx", zipped("word/document.xml"), "a Word document, not a table"),
    "a video": ("a.csv", b"\x00\x00\x00\x20ftypisom" + bytes(50), "a video"),
    "a PDF": ("a.xlsx", b"%PDF-1.7", "a PDF"),
    "nothing": ("a.csv", b"", "empty.*name the columns"),
    "50 MB on one line": ("a.csv", b"phone,name" + b"x" * (50 << 20), "line 1 is longer than"),
    "50 MB on one line of JSON": ("a.jsonl", b'{"phone": "' + b"1" * (50 << 20), "line 1 is longer than"),
    "mixed encodings": (
        "a.csv",
        "phone,name\n1,Zoë\n2,Zoë\n".encode() + "3,Zoë\n".encode("cp1252"),
        "line 4, byte.*UTF-8",
    ),
    "a cut gzip": ("a.csv.gz", gzip.compress(CSV)[:-5], "gzip file is cut off.*copy or export"),
    "a cut zstd": ("a.csv.zst", pack(CSV, "zstd")[:-3], "zstd file is cut off"),
    "a cut zip": ("a.zip", pack(CSV, "zip")[:-30], "cut off or damaged"),
    "a damaged zip": (
        "a.zip",
        pack(CSV * 9, "zip").replace(b"customers", b"CUSTOMERS", 1),
        "cut off or damaged",
    ),
    "a gzip bomb": ("a.csv.gz", gzip.compress(CSV + bytes(80 << 20)), "more than 67,108,864 bytes.*bomb"),
    "a zstd bomb": ("a.csv.zst", pack(CSV + bytes(80 << 20), "zstd"), "bomb"),
    "a zip bomb": ("a.zip", pack(CSV + bytes(80 << 20), "zip"), "bomb"),
    "a zip of two files": ("a.zip", two_files(), r"2 files \(a.csv, b.csv\).*unpack"),
    "packed twice": ("a.csv.gz", gzip.compress(gzip.compress(CSV)), "packed twice"),
    "a cut workbook": ("a.xlsx", sheet(["phone"])[:-40], "cut off or damaged"),
    "merged title": (
        "a.xlsx",
        workbook(merged),
        r'row 1 holds only "Kundenliste".*row 2 seems to name.*header_row',
    ),
    "merged header": (
        "a.xlsx",
        workbook(merged_header),
        r"A1:B1 .*merged .*sheet 'Kunden', row 1, column A\)",
    ),
    "title above": (
        "a.xlsx",
        sheet(["Our list"], ["phone", "name"], ["1", "A"]),
        r'row 1 holds only "Our list".*delete',
    ),
    "no name": (
        "a.xlsx",
        sheet(["phone", "", "name"], ["1", "", "A"], ["1", "x"]),
        r"column B has values, but no name in row 1 .*row 3, column B\)",
    ),
    "two sheets": ("a.xlsx", workbook(two_sheets), '2 sheets with rows: "Mai", "Juni".*sheet'),
    "pictures only": (
        "a.xlsx",
        workbook(lambda made: made.add_worksheet("Bild")),
        "sheet has no rows; pictures",
    ),
    "not JSON": ("a.jsonl", JSON + b'{"phone": "+1', r"not a JSON object.*line 2\)"),
    "a JSON array": ("a.json", b"[" + JSON + b"]", "JSON array.*jq"),
    "a list a line": ("a.jsonl", JSON + b"[1]\n", r"not a JSON object with columns .*line 2\)"),
    "a later column": (
        "a.jsonl",
        JSON + b'{"phone": "1", "city": "Rio"}\n',
        r'"city" is not in the first .*line 2\)',
    ),
    "nested": ("a.jsonl", JSON + b'{"phone": {"mobile": "1"}}\n', r"phone\.mobile.*line 2\)"),
    "cut Parquet": ("a.parquet", nested_parquet()[:-9], "Parquet file is cut off or damaged"),
    "lists in Parquet": ("a.parquet", nested_parquet(), '"tags" holds list'),
    "a missing column": ("a.jsonl", b'{"Telefon": "1"}\n', 'no column "phone".*the columns are "Telefon"'),
}


@pytest.mark.parametrize(("name", "content", "says"), REFUSED.values(), ids=REFUSED)
def test_a_file_is_refused_with_its_cure(name: str, content: bytes, says: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=f"(?s){says}") as refused:
        inspect_audience(path, rejects_path=tmp_path / "bad.csv", rules=RowRules(params=("phone",)))
    assert refused.value.exit_code == 78
    assert refused.value.where
    assert [found.name for found in tmp_path.iterdir()] == [name]


def test_a_workbook_with_a_password_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"password.*save it without"):
        inspect_audience(PASSWORD, rejects_path=tmp_path / "bad.csv")


def test_a_workbook_above_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook_reader, "UNPACKED_BYTES_MAX", 1_000)
    path = tmp_path / "a.xlsx"
    path.write_bytes(sheet(["phone"]))
    with pytest.raises(ConfigurationError, match=r"at most 1,000 are read.*as CSV"):
        inspect_audience(path, rejects_path=tmp_path / "bad.csv")


def test_a_workbook_that_needs_too_much_memory_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small file: one long text, repeated in the cells of a million rows."""
    monkeypatch.setattr(workbook_reader, "memory_limit_bytes", lambda: 592 << 20)
    text = "x" * 10_000
    cell = f"<table:table-cell office:value-type='string'><text:p>{text}</text:p></table:table-cell>"
    names = "urn:oasis:names:tc:opendocument:xmlns"
    content = (
        f'<office:document-content xmlns:office="{names}:office:1.0" xmlns:table="{names}:table:1.0" '
        f'xmlns:text="{names}:text:1.0"><office:body><office:spreadsheet><table:table table:name="a">'
        f'<table:table-row table:number-rows-repeated="1000000">{cell}</table:table-row></table:table>'
        "</office:spreadsheet></office:body></office:document-content>"
    )
    path = tmp_path / "a.ods"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", content)
        archive.writestr("META-INF/manifest.xml", "<manifest/>")
    with pytest.raises(ConfigurationError, match=r"more than 400 MiB of memory, .* in the 592 MiB of this"):
        inspect_audience(path, rejects_path=tmp_path / "bad.csv")


def test_a_workbook_waits_for_another_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbook_reader, "WAIT_S_MAX", 0.0)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    path = tmp_path / "a.xlsx"
    path.write_bytes(sheet(["phone"], ["+4915112345678"]))
    with one_at_a_time(0.0) as lock:
        assert lock is not None
        with pytest.raises(ConfigurationError, match="other workbooks are being read"):
            inspect_audience(path, rejects_path=tmp_path / "bad.csv")
    inspect_audience(path, rejects_path=tmp_path / "bad.csv")


def test_parquet_without_pyarrow_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(parquet, "import_module", missing)
    path = tmp_path / "a.parquet"
    path.write_bytes(nested_parquet())
    with pytest.raises(ConfigurationError, match=r"drumbeat\[parquet\]"):
        inspect_audience(path, rejects_path=tmp_path / "bad.csv")


def test_a_format_that_is_named_outranks_what_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(CSV)
    with pytest.raises(ConfigurationError, match=r"not a JSON object.*line 1\)"):
        inspect_audience(path, rejects_path=tmp_path / "bad.csv", options=ReadOptions(Format.JSON_LINES))
    with pytest.raises(UsageError, match="sheet is for workbooks"):
        inspect_audience(path, rejects_path=tmp_path / "bad.csv", options=ReadOptions(sheet="x"))


def test_a_full_disk_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Path("/dev/full").open("r+b", buffering=0)  # noqa: SIM115 - `unpack` closes it
    monkeypatch.setattr(unpacking, "temporary_file", lambda: full)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(CSV))
    with pytest.raises(ConfigurationError, match=r"No space left.*TMPDIR"):
        inspect_audience(path, rejects_path=tmp_path / "bad.csv")


QUERIES = {
    "DELETE FROM numbers": "returns no columns.*give a SELECT",
    "DELETE FROM numbers RETURNING phone_number_id": "the query writes.*give a SELECT",
    "SELECT setval(pg_get_serial_sequence('campaigns', 'campaign_id'), 9)": "calls setval",
    "WITH a AS (DELETE FROM numbers RETURNING 1) SELECT * FROM a": "the query writes",
    "SELECT lo_creat(-1)": "calls lo_creat",
    'SELECT pg_catalog."lo_create" (0)': "calls lo_create",
    "SELECT lo_from_bytea/* ( */(0, '')": "calls lo_from_bytea",
    "SELECT '\"' || LO_CREAT -- (\n (-1) || '\"'": "calls lo_creat",
    'SELECT U&"lo\\005fcreat"(-1)': "by numbers",
    "SELECT lo_import('/etc/hostname')": "calls lo_import",
    "SELECT pg_advisory_lock(1)": "calls pg_advisory_lock",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()": "calls pg_term",
    "SELECT set_config('statement_timeout', '0', true)": "calls set_config",
    "SELECT nextval('campaigns_campaign_id_seq')": "calls nextval",
    "SELECT pg_read_file('/etc/hostname')": "calls pg_read_file",
    "SELECT query_to_xml('select lo_' || 'creat(-1)', true, true, '')": "calls query_to_xml",
    "SELECT 1) TO STDOUT; DROP TABLE numbers; COPY (SELECT 1": "cannot run: syntax error",
    "SELECT 1; DROP TABLE numbers": "cannot run: cannot insert multiple commands",
    "SELECT phon FROM numbers": 'column "phon" does not exist',
    "SELECT phone_number_id FROM numbers": 'no column "name".*the columns are "phone_number_id"',
    "SELECT 1 / 0 AS phone": "division by zero",
}


@pytest.mark.parametrize(("query", "says"), QUERIES.items())
async def test_a_query_is_refused_and_changes_nothing(
    ready: str, pool: Pool, spec: CampaignSpec, query: str, says: str
) -> None:
    with pytest.raises(DrumbeatError, match=says) as refused:
        await create_campaign(
            ready, replace(spec, audience=None, audience_sql=query, audience_database=ready)
        )
    assert refused.value.exit_code == 78
    assert set((await everything(pool)).values()) == {0}
    assert await pool.fetchval("SELECT count(*) FROM numbers") == 2


async def test_a_database_that_is_away_is_named_without_its_password(ready: str, spec: CampaignSpec) -> None:
    away = "postgresql://reader:secret@127.0.0.1:1/shop"
    asked = replace(spec, audience=None, audience_sql="SELECT 1", audience_database=away)
    with pytest.raises(DrumbeatError, match="DRUMBEAT_AUDIENCE_DATABASE_URL") as refused:
        await create_campaign(ready, asked)
    assert refused.value.exit_code == 69
    assert "secret" not in str(refused.value) + repr(asked)
