"""A file that does not say its encoding: nobody's name is guessed, and a person sees what it may be."""

from dataclasses import replace
from pathlib import Path

import pytest

from drumbeat.campaigns.audience.check.encoding_question import UnknownEncoding
from drumbeat.campaigns.audience.check.glimpse import glimpse
from drumbeat.campaigns.audience.check.inspection import inspect_audience
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open.encoding import UnreadableAudience
from drumbeat.campaigns.audience.open.encoding_candidates import candidates
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.options.sources import Format, ReadOptions
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import everything, recipients

# Python's codec, the names, and the name under which it is offered.
WRITTEN = [
    ("cp1252", ["João", "Zoë", "Müller"], "cp1252"),
    ("cp1250", ["Wąsik", "Božena", "Jiří"], "cp1250"),
    ("cp1254", ["Ağaoğlu", "İnci", "Şebnem"], "cp1254"),
    ("cp1251", ["Борис", "Ольга"], "cp1251"),
    ("cp1253", ["Νίκος", "Ελένη"], "cp1253"),
    ("cp1255", ["נועה"], "cp1255"),
    ("cp1256", ["ليلى"], "cp1256"),
    ("cp1257", ["Jānis", "Šarūnas"], "cp1257"),
    ("cp874", ["มาลี"], "cp874"),
    ("cp932", ["鈴木一郎", "ポール"], "shift_jis"),
    ("gb18030", ["张敏", "刘洋"], "gb18030"),
    ("big5", ["陳美玲"], "big5"),
    ("cp949", ["이지은"], "cp949"),
    ("mac_roman", ["Françoise", "Zoë"], "macintosh"),
    ("cp850", ["Françoise", "Zoë"], "cp850"),
    ("cp852", ["Wąsik"], "cp852"),
    ("koi8-r", ["Борис"], "koi8-r"),
]
RULES = RowRules(params=("name",))


def people(names: list[str], codec: str) -> bytes:
    rows = "".join(f"{PHONE + at},{name}\n" for at, name in enumerate(names))
    return f"phone,name\n{rows}".encode(codec)


def check(path: Path, rules: RowRules = RULES, options: ReadOptions | None = None) -> None:
    inspect_audience(
        path, rejects_path=path.with_name("bad.csv"), rules=rules, options=options or ReadOptions()
    )


@pytest.mark.parametrize(("codec", "names", "offered"), WRITTEN)
def test_the_right_names_are_among_the_candidates(
    codec: str, names: list[str], offered: str, write_audience: WriteAudience
) -> None:
    path = write_audience(people(names, codec))
    with pytest.raises(UnknownEncoding) as asked:
        check(path)

    by_name = {each.name: each.cells for each in asked.value.candidates}
    assert by_name[offered] == tuple(names)
    assert f"{offered}: {', '.join(names)}" in str(asked.value)
    assert "give encoding with" in str(asked.value)
    check(path, options=ReadOptions(encoding=offered))


@pytest.mark.parametrize(("codec", "names", "offered"), WRITTEN)
def test_a_named_encoding_is_read(
    codec: str, names: list[str], offered: str, write_audience: WriteAudience
) -> None:
    with open_table(write_audience(people(names, codec)), ReadOptions(encoding=offered)) as source:
        rows = [row[1] for batch in source.table().batches() for row in batch.rows]
    assert rows == names


@pytest.mark.parametrize("name", ["windows-1250", "Windows 1250", "CP1250", "x-cp1250", "windows_1250"])
def test_an_encoding_has_many_names(name: str, write_audience: WriteAudience) -> None:
    check(write_audience(people(["Wąsik"], "cp1250")), options=ReadOptions(encoding=name))


def test_what_the_web_calls_latin_is_what_programs_write(write_audience: WriteAudience) -> None:
    with open_table(
        write_audience(people(["“Zoë” €"], "cp1252")), ReadOptions(encoding="iso-8859-1")
    ) as source:
        assert source.table().encoding.codec == "cp1252"


@pytest.mark.parametrize("name", ["klingon", "rot13", "base64", "idna", "utf-8\0", ""])
def test_what_is_no_encoding_is_refused(name: str, write_audience: WriteAudience) -> None:
    with pytest.raises(UsageError, match="is no encoding"):
        check(write_audience(people(["Ana"], "utf-8")), options=ReadOptions(encoding=name))


def test_bytes_that_do_not_fit_the_named_encoding_are_refused(write_audience: WriteAudience) -> None:
    with pytest.raises(UnreadableAudience, match=r"line 2, byte.*with encoding"):
        check(write_audience(people(["Zoë"], "cp1252")), options=ReadOptions(encoding="utf-8"))


def test_a_mark_outranks_the_named_encoding(write_audience: WriteAudience) -> None:
    with open_table(write_audience(people(["Zoë"], "utf-8-sig")), ReadOptions(encoding="cp1250")) as source:
        table = source.table()
        assert [row for batch in table.batches() for row in batch.rows] == [[str(PHONE), "Zoë"]]


def test_japanese_in_seven_bits_is_seen(write_audience: WriteAudience) -> None:
    with open_table(write_audience(people(["鈴木"], "iso2022_jp"))) as source:
        assert [row[1] for batch in source.table().batches() for row in batch.rows] == ["鈴木"]


def test_letters_that_no_message_takes_are_no_question(write_audience: WriteAudience) -> None:
    text = f"phone,name,city\n{PHONE},Ana,Łódź\n".encode("cp1250")
    check(write_audience(text))
    with pytest.raises(UnknownEncoding, match='"city"'):
        check(write_audience(text), RowRules(params=("name", "city")))


def test_a_name_far_below_is_a_question_too(write_audience: WriteAudience) -> None:
    rows = f"{PHONE},Ana\n" * 100_000
    with pytest.raises(UnknownEncoding, match="Wąsik"):
        check(write_audience(f"phone,name\n{rows}{PHONE},Wąsik\n".encode("cp1250")))


def test_a_column_whose_name_cannot_be_read_is_the_same_question(write_audience: WriteAudience) -> None:
    path = write_audience(f"phone,Imię\n{PHONE},Ana\n".encode("cp1250"))
    with pytest.raises(UnknownEncoding, match=r"the header.*cp1250: Imię"):
        check(path, RowRules(params=("Imię",)))


def test_a_form_that_has_no_encoding_takes_none(write_audience: WriteAudience) -> None:
    path = write_audience(b'{"phone": "1", "name": "Ana"}\n', "a.jsonl")
    with pytest.raises(UsageError, match="encoding is for CSV"):
        check(path, options=ReadOptions(Format.JSON_LINES, encoding="cp1250"))


async def test_a_campaign_is_not_made_by_a_guess(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    path = write_audience(f"phone,name,order\n{PHONE},Wąsik,1\n".encode("cp1250"))
    with pytest.raises(UnknownEncoding):
        await create_campaign(ready, replace(spec, audience=path))
    assert not any((await everything(pool)).values())

    named = replace(spec, audience=path, encoding="cp1250")
    await create_campaign(ready, named)
    assert [row["variables"][0] for row in await recipients(pool)] == ["Wąsik"]
    assert (await create_campaign(ready, named)).unchanged


def test_the_page_sees_the_candidates_of_any_column(write_audience: WriteAudience) -> None:
    path = write_audience(f"phone,city\n{PHONE},Łódź\n".encode("cp1250"))

    assert any(each.cells == ("Łódź",) for each in glimpse(path).candidates)
    assert glimpse(path, ReadOptions(encoding="cp1250")).candidates == []
    assert glimpse(write_audience(f"phone,city\n{PHONE},Łódź\n")).candidates == []


def test_no_candidate_shows_control_characters() -> None:
    assert all(each.cells[0].isprintable() for each in candidates([b"Jos\x8e", b"Zo\x91\r\nx"]))
