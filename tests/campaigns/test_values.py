"""Values as people mean them: cleaned, and what looks broken is told before anybody reads it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from drumbeat.campaigns.audience.check.inspection import Inspection, inspect_audience
from drumbeat.campaigns.audience.check.message_rules import message_rules
from drumbeat.campaigns.audience.check.row_check import row_check
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.check.template_choice import TemplateChoice
from drumbeat.campaigns.audience.open.reader import RowBatch
from drumbeat.campaigns.finding import FINDINGS, finding_text
from drumbeat.campaigns.reject import REASONS
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from tests.campaigns.audience_files import write_csv, write_json_lines, write_xlsx

PHONE = 14155550100
FORMS: dict[str, Callable[..., None]] = {"csv": write_csv, "jsonl": write_json_lines, "xlsx": write_xlsx}
EMOJI = "\N{WOMAN}\u200d\N{PERSONAL COMPUTER}"
FLAG = "\N{WAVING BLACK FLAG}\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"

# What is written, what is read, and the finding about it; a code of rejects where nothing is read.
CLEANED = [
    ("Mia ", "Mia", "spaces_removed"),
    ("   Noa", "Noa", "spaces_removed"),
    ("Mia\u00a0", "Mia", "spaces_removed"),
    ("\u3000Noa", "Noa", "spaces_removed"),
    ("\u2003Mia\u202f", "Mia", "spaces_removed"),
    ("Mia\t", "Mia", "spaces_removed"),
    ("Mia\n", "Mia", "spaces_removed"),
    ("Mia\u2028", "Mia", "spaces_removed"),
    ("\u200bMia", "Mia", "invisible_removed"),
    ("Mia\ufeff", "Mia", "invisible_removed"),
    ("Noa\u3164", "Noa", "invisible_removed"),
    ("\u202aMia", "Mia", "invisible_removed"),
    ("\u2067Mia", "Mia", "invisible_removed"),
    ("Mia\u202c", "Mia", "invisible_removed"),
    ("\u200fMia\u200e", "Mia", "invisible_removed"),
    ("'00451", "00451", "apostrophe_removed"),
    ("'+49 30", "+49 30", "apostrophe_removed"),
    ('="0451"', "0451", "apostrophe_removed"),
]
KEPT = [
    *("Mia Maria", "O'Neil", "'t Hoen", "'90s kid", "R&D", "a | b", "|", "Zoë", "=x", "\u2068Mia\u2069"),
    *(EMOJI, FLAG, "\u2764\ufe0f", "\u0645\u06cc\u200c\u0631\u0648\u0645", "\u05e9\u05dc\u05d5\u05dd!\u200f"),
]
INVISIBLE = [
    "\u200b",
    "\ufeff \ufeff",
    "\u3164",
    "\u2800\u2800",
    "\xad",
    "\u2060",
    "\u200d",
    "\u202e\u202c",
    "\ufe0f",
]
BROKEN = [
    ("ZoÃ«", "Zoë", "mojibake"),
    ("MÃ¼ller", "Müller", "mojibake"),
    ("Å½ofie", "Žofie", "mojibake"),
    ("ÄŒapek", "Čapek", "mojibake"),
    ("Ð\u009eÐ»ÑŒÐ³Ð°", "Ольга", "mojibake"),
    ("MГјller", "Müller", "mojibake"),
    ("Jos├®", "José", "mojibake"),
    ("AdaвЂ™s", "Ada’s", "mojibake"),
    ("≈Åukasz", "Łukasz", "mojibake"),
    ("Fran&ccedil;oise", "Françoise", "html_entity"),
    ("Tom &amp; Mia", "Tom & Mia", "html_entity"),
    ("Tom &amp;amp; Mia", "Tom & Mia", "html_entity"),
    ("&#x5A;oe", "Zoe", "html_entity"),
]
NO_VALUES = [
    *("null", "NULL", "Null", "\\N", "NaN", "nan", "None", "undefined", "N/A", "n/a", "-", "--", "?", "NA"),
    *("[object Object]", "(blank)", "<NA>", "0000-00-00"),
]
UNFILLED = [
    "{{first_name}}",
    "Hi {{ name }}",
    "%FIRSTNAME%",
    "*|FNAME|*",
    "[[name]]",
    "${name}",
    "[FIRST_NAME]",
]
MEANT = [
    "Nilla",
    "NAN Nguyen",
    "15%",
    "5 - 6",
    "50% of 20%",
    "[VIP] Mia",
    "AT&T;",
    "a@b",
    "Ãlvaro",
    "Âge",
    "Nana",
]


def found(path: Path, cells: list[str], form: str = "csv", **rules: Any) -> tuple[list[str], Inspection]:
    """Return what messages would say, and the check's result."""
    audience = path / f"list.{form}"
    column = rules.pop("column", "name")
    FORMS[form](audience, ["phone", column], [[f"+{PHONE + at}", cell] for at, cell in enumerate(cells)])
    rules = RowRules(params=(column,), **rules)
    result = inspect_audience(audience, rejects_path=path / "bad.csv", rules=rules)
    return [row.values[0] for row in result.first], result


def codes(result: Inspection) -> list[str]:
    return [finding["code"] for finding in result.findings]


@pytest.mark.parametrize(("written", "read", "code"), CLEANED)
def test_what_is_around_a_value_is_taken_off_and_told(
    written: str, read: str, code: str, tmp_path: Path
) -> None:
    values, result = found(tmp_path, ["Ada", written, "Ben"], "jsonl")

    assert values == ["Ada", read, "Ben"]
    (finding,) = result.findings
    assert (finding["code"], finding["column"], finding["count"]) == (code, "name", 1)
    assert finding["example"] == written
    assert finding["text"] == finding_text(code)


@pytest.mark.parametrize("form", FORMS)
def test_values_are_the_same_from_every_form(form: str, tmp_path: Path) -> None:
    for cases in (CLEANED[:9], CLEANED[9:], BROKEN[:9], BROKEN[9:]):
        values, result = found(tmp_path, [written for written, _, _ in cases], form, repairs=True)
        assert values == [read for _, read, _ in cases]
        # In CSV, a separator may have spaces behind it: nobody needs to be told.
        told = [case for case in cases if form != "csv" or not case[0].startswith("  ")]
        assert sum(finding["count"] for finding in result.findings) == len(told)


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_control_characters_at_an_end_are_invisible(form: str, tmp_path: Path) -> None:
    values, result = found(tmp_path, ["\x02Noa\x7f", "\x07\x9f"], form)
    assert (values, codes(result)) == (["Noa"], ["invisible_removed"])
    assert result.reject_codes == {"variable_empty": 1}


@pytest.mark.parametrize("form", FORMS)
def test_what_belongs_to_a_value_stays(form: str, tmp_path: Path) -> None:
    for cells in (KEPT[:8], KEPT[8:]):
        values, result = found(tmp_path, cells, form)
        assert (values, result.findings) == (cells, [])


@pytest.mark.parametrize("form", FORMS)
def test_a_cell_in_which_nothing_is_seen_is_empty(form: str, tmp_path: Path) -> None:
    count = len(INVISIBLE)
    values, result = found(tmp_path, ["Ada", *INVISIBLE], form)
    assert (values, result.reject_codes) == (["Ada"], {"variable_empty": count})

    values, result = found(tmp_path, ["Ada", *INVISIBLE], form, defaults={"name": "friend"})
    assert (values, result.rejected) == (["Ada", *["friend"] * count], 0)


def test_spaces_stay_on_request(tmp_path: Path) -> None:
    values, result = found(tmp_path, ["Mia\u3000", "Noa ", "\u200b"], "jsonl", keep_spaces=True)
    assert (values, result.reject_codes) == (["Mia\u3000", "Noa "], {"variable_empty": 1})
    assert result.findings == []


def test_each_finding_is_told_once_with_its_first_lines(tmp_path: Path) -> None:
    _, result = found(tmp_path, ["Mia ", "Noa", *["Ada "] * 8])
    (finding,) = result.findings
    assert (finding["count"], finding["lines"], finding["example"]) == (9, [2, 4, 5, 6, 7], "Mia ")


def test_rows_that_are_left_out_are_in_no_finding(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"phone,name\n12,Mia \n+{PHONE},Noa\n", encoding="utf-8")
    result = inspect_audience(path, rejects_path=tmp_path / "b.csv", rules=RowRules(params=("name",)))
    assert (result.rejected, result.findings) == (1, [])


def test_a_reject_has_the_cell_as_it_was_written(tmp_path: Path) -> None:
    _, result = found(tmp_path, [" one\ntwo "], "jsonl")
    assert result.rejects_path is not None
    assert '" one\ntwo "' in result.rejects_path.read_text("utf-8-sig")


def test_the_column_of_languages_is_cleaned_too(tmp_path: Path) -> None:
    rules = RowRules(params=("name",), choice=TemplateChoice(("en", "de"), "lang"))
    check = row_check(["phone", "name", "lang"], "a.csv", rules)
    batch = check.check(RowBatch(0, [2], [[f"+{PHONE}", "Mia", "\u200bde\u00a0"]]))
    assert (batch.template_indexes, batch.unmatched) == ([1], {})


@pytest.mark.parametrize(("written", "repaired", "code"), BROKEN)
def test_what_is_garbled_is_told_and_repaired_on_request(
    written: str, repaired: str, code: str, tmp_path: Path
) -> None:
    values, result = found(tmp_path, ["Ada", written])
    assert (values, codes(result)) == (["Ada", written], [code])
    assert result.findings[0]["lines"] == [3]

    values, result = found(tmp_path, ["Ada", written], repairs=True)
    assert values == ["Ada", repaired]
    assert codes(result) == ["mojibake_repaired" if code == "mojibake" else "html_repaired"]


@pytest.mark.parametrize("form", FORMS)
def test_words_for_no_value_are_told_and_emptied_on_request(form: str, tmp_path: Path) -> None:
    for code, cells in (("empty_word", NO_VALUES), ("unfilled_placeholder", UNFILLED)):
        _, result = found(tmp_path, cells, form)
        assert codes(result) == [code]
        assert result.findings[0]["count"] == len(cells)

    cells = ["Ada", "NULL", "{{name}}"]
    values, result = found(tmp_path, cells, form, empties_words=True)
    assert (values, result.reject_codes) == (["Ada"], {"variable_empty": 2})
    values, result = found(tmp_path, cells, form, empties_words=True, defaults={"name": "friend"})
    assert (values, codes(result)) == (["Ada", "friend", "friend"], ["word_emptied"])


def test_what_people_mean_is_no_finding(tmp_path: Path) -> None:
    for cell in MEANT:
        assert found(tmp_path, [cell], repairs=True, empties_words=True)[0] == [cell]
        assert codes(found(tmp_path, [cell])[1]) == [], cell


def test_a_mail_address_is_told_except_in_its_own_column(tmp_path: Path) -> None:
    assert codes(found(tmp_path, ["mia@shop.example"])[1]) == ["email_as_value"]
    assert codes(found(tmp_path, ["mia@shop.example"], column="E-Mail")[1]) == []


@pytest.mark.parametrize("form", FORMS)
def test_a_lost_letter_rejects_the_row(form: str, tmp_path: Path) -> None:
    cells = ["Ada", "Z\ufffde", "\ufffd\ufffd", "Mia \ufffd"]
    values, result = found(tmp_path, cells, form, defaults={"name": "friend"}, repairs=True)
    assert (values, result.reject_codes) == (["Ada"], {"variable_replacement": 3})


LINKED = {
    "components": [
        {"type": "BODY", "text": "Your plant"},
        {
            "type": "BUTTONS",
            "buttons": [{"type": "URL", "text": "Open", "url": "https://www.shop.example/p/{{1}}"}],
        },
    ]
}
LINKS = [
    ("https://www.shop.example/p/rose", "rose", "url_beginning"),
    ("http://shop.example/p/rose?x=1", "rose?x=1", "url_beginning"),
    ("SHOP.example/p/rose", "rose", "url_beginning"),
    ("/p/rose", "rose", "url_beginning"),
    ("/rose", "rose", "url_beginning"),
    ("//rose/red", "rose/red", "url_beginning"),
    ("rose red", "rose%20red", "url_characters"),
    ("20%off", "20%25off", "url_characters"),
    ("blüte", "bl%C3%BCte", "url_characters"),
    ("a?b=1&amp;c=2", "a?b=1&c=2", "html_entity"),
    ("https://other.example/x", "https://other.example/x", "url_beginning"),
]


def rules_of(definition: dict[str, Any]) -> dict[str, Any]:
    return {"message": message_rules([CampaignTemplate("t", "en", definition, None)])}


@pytest.mark.parametrize(("written", "repaired", "code"), LINKS)
def test_the_end_of_a_link_follows_the_template(
    written: str, repaired: str, code: str, tmp_path: Path
) -> None:
    values, result = found(tmp_path, [written], **rules_of(LINKED))
    assert (values, codes(result)) == ([written], [code])
    assert found(tmp_path, [written], repairs=True, **rules_of(LINKED))[0] == [repaired]


@pytest.mark.parametrize("written", ["rose", "a/b?c=d&e=%20#f", "p/rose", "10%25"])
def test_a_good_end_of_a_link_is_no_finding(written: str, tmp_path: Path) -> None:
    values, result = found(tmp_path, [written], repairs=True, **rules_of(LINKED))
    assert (values, codes(result)) == ([written], [])


def coupon() -> dict[str, Any]:
    buttons = [{"type": "COPY_CODE", "example": "A"}]
    return {"components": [{"type": "BODY", "text": "Hi"}, {"type": "BUTTONS", "buttons": buttons}]}


def test_a_code_has_fifteen_letters_and_digits(tmp_path: Path) -> None:
    codes_written = ["MAY26", "A-B_C", "A" * 15, "A" * 16, "MAY 26", "MÄRZ", "MAY\N{SNOWMAN}"]
    values, result = found(tmp_path, codes_written, **rules_of(coupon()))
    assert result.reject_codes == {"code_too_long": 1}
    assert len(values) == 6
    (finding,) = result.findings
    assert (finding["code"], finding["lines"]) == ("code_characters", [6, 7, 8])


def test_every_finding_has_words_and_no_reject_is_one() -> None:
    assert all(map(finding_text, FINDINGS))
    assert "--repair" in finding_text("mojibake", lambda key: f"--{key}")
    assert FINDINGS.keys().isdisjoint(REASONS)


def test_the_rows_of_a_stored_campaign_stay_as_they_were_sent(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text(f"phone,name\n{PHONE},Mia \n", encoding="utf-8")
    rules = RowRules(params=("name",), is_stored=True)
    result = inspect_audience(path, rejects_path=tmp_path / "b.csv", rules=rules)
    assert (result.first[0].values, result.findings) == (("Mia ",), [])
