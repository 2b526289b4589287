"""What a cell shows by its number format, as spreadsheets show it in the United States."""

import pytest

from drumbeat.campaigns.audience.open.number_format.formats import BUILT_IN, CellFormat
from drumbeat.campaigns.audience.open.number_format.numbers import general

SHOWN = [
    ("0%", 0.15, "15%"),
    ("0%", 0.075, "8%"),
    ("0.0%;-0.0%", -0.05, "-5.0%"),
    ('#,##0.00 "€"', 1234.5, "1,234.50 €"),
    ("0.00\\ [$€-407]", 19.9, "19.90 €"),
    ("[$€-2]\\ #,##0.00", 1234.5, "€ 1,234.50"),
    ('"$"#,##0.00_);("$"#,##0.00)', -1234.5, "($1,234.50)"),
    (BUILT_IN[44], 1234.5, "$1,234.50"),
    (BUILT_IN[44], 0, "$-"),
    ('_-* #,##0.00\\ "€"_-;\\-* #,##0.00\\ "€"_-;_-* "-"??\\ "€"_-;_-@_-', 19.9, "19.90 €"),
    ("[$USD] #,##0.00", 12, "USD 12.00"),
    ('0.0,,"M"', 12345678, "12.3M"),
    ("#,##0,", 1234567, "1,235"),
    ("00000", 42, "00042"),
    ("000\\-00\\-0000", 123456789, "123-45-6789"),
    ("[<=9999999]###-####;(###) ###-####", 4155550101, "(415) 555-0101"),
    ("[<=9999999]###-####;(###) ###-####", 5550101, "555-0101"),
    ("[>=10000000]##\\,##\\,##\\,##0;[>=100000]##\\,##\\,##0;##,##0", 1234567, "12,34,567"),
    ('[>=100]"high";[<100]"low"', 15, "low"),
    ('[Red]-0.00;[Blue]0.00;"none"', 0, "none"),
    ("# ?/?", 1.5, "1 1/2"),
    ("# ??/??", 0.333, "1/3"),
    ("# ?/8", 0.375, "3/8"),
    ("?/?", 1.5, "3/2"),
    ("# ?/?", 2, "2"),
    ("0.00E+00", 12345, "1.23E+04"),
    ("0.00E+00", 99999, "1.00E+05"),
    ("##0.0E+0", 12345, "12.3E+3"),
    ("0.00", 1.005, "1.01"),
    ("0", 2.5, "3"),
    ("0", -0.4, "0"),
    ("#.##", 0.5, ".5"),
    ("General", 57.699999999999996, "57.7"),
    ("General", 0.30000000000000004, "0.3"),
    ('General" pcs"', 5, "5 pcs"),
    (";;;", 5, ""),
    ("DD.MM.YYYY", 46086, "05.03.2026"),
    ("d/m/yy", 46086, "5/3/26"),
    ("yyyy\\-mm\\-dd\\Thh:mm", 46086.75, "2026-03-05T18:00"),
    ('yyyy"年"m"月"d"日"', 46086, "2026年3月5日"),
    ("[$-409]mmmm d, yyyy", 46087, "March 6, 2026"),
    ("[$-407]dddd, d. mmmm yyyy;@", 46087, "Freitag, 6. März 2026"),
    ("[$-40C]dddd d mmmm yyyy", 46087, "vendredi 6 mars 2026"),
    ("[$-de-DE]mmmm", 46087, "März"),
    ("[$-419]d mmmm", 46087, "6 марта"),
    ("[$-FC19]d mmmm", 46087, "6 марта"),
    ("[$-1010000]d/m/yyyy", 46086, "5/3/2026"),
    ("yyyy-mm-ddThh:mm", 46086.75, "2026-03-05T18:00"),
    ("HH:MM", 0.375, "09:00"),
    ("h:mm AM/PM", 0.75, "6:00 PM"),
    ("h:mm a/p", 0.25, "6:00 a"),
    ("d.m.yy h:mm", 46086.7708333333, "5.3.26 18:30"),
    ("[h]:mm", 1.5, "36:00"),
    ("[mm]:ss", 0.01, "14:24"),
    ("mm:ss.0", 0.0001, "00:08.6"),
    ("dd.mm.yyyy", 1, "01.01.1900"),
]


@pytest.mark.parametrize(("code", "value", "text"), SHOWN)
def test_a_number_is_shown_by_its_format(code: str, value: float, text: str) -> None:
    shown = CellFormat(code)
    assert (shown.show(float(value)), shown.finding) == (text, "")


@pytest.mark.parametrize(
    ("code", "text"),
    [("@", "Ada"), ('"Hi "@', "Hi Ada"), ("0;-0;0;[Red]@\\!", "Ada!"), ("0.00", "Ada"), ("_(@_)", "Ada")],
)
def test_a_text_is_shown_by_the_section_for_texts(code: str, text: str) -> None:
    assert CellFormat(code).show_text("Ada") == text


@pytest.mark.parametrize("code", ["#,##0", "#,##0.00", "0.00", "0.00E+00", "General", "0"])
def test_a_whole_number_that_may_be_a_phone_keeps_its_digits(code: str) -> None:
    assert CellFormat(code).show(491701234567.0) == "491701234567"
    assert CellFormat(code).show(4155550101.0) == "4155550101"


@pytest.mark.parametrize(
    ("code", "text"), [("\\+0", "+491701234567"), ("000000000000000", "000491701234567")]
)
def test_signs_and_zeros_that_a_format_adds_to_a_phone_stay(code: str, text: str) -> None:
    assert CellFormat(code).show(491701234567.0) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1234567.891, "1234567.891"),
        (1 / 3, "0.333333333"),
        (0.00001, "0.00001"),
        (1.5e-12, "1.5E-12"),
        (-2.0, "-2"),
        (123456789012345.0, "123456789012345"),
        (1e20, "1e+20"),
    ],
)
def test_a_cell_without_a_format_shows_up_to_eleven_characters(value: float, text: str) -> None:
    assert general(value) == text


@pytest.mark.parametrize(
    ("code", "finding", "text"),
    [
        ("[$-411]ggge", "format_unknown", "46086"),
        ("[DBNum1]0", "format_unknown", "46086"),
        ("[$-1070000]d/mm/yyyy", "format_unknown", "46086"),
        ('0 "open', "format_unknown", "46086"),
        ("TT.MM.JJJJ", "format_unknown", "46086"),
        ("dd-mm-jjjj", "format_unknown", "46086"),
        ("0,00 €", "format_unknown", "46086"),
        ("#.##0,00", "format_unknown", "46086"),
        ("[$-2000000]0", "format_unknown", "46086"),
        ("mmm yyyy", "format_language", "Mar 2026"),
        ("[$-F800]dddd, mmmm dd, yyyy", "format_system", "2026-03-05"),
        (BUILT_IN[14], "format_system", "2026-03-05"),
        (BUILT_IN[22], "format_system", "2026-03-05 00:00"),
    ],
)
def test_a_format_that_cannot_be_trusted_is_told(code: str, finding: str, text: str) -> None:
    shown = CellFormat(code)
    assert (shown.finding, shown.show(46086.0)) == (finding, text)


@pytest.mark.parametrize(("code", "value"), [("dd.mm.yyyy", 0.0), ("dd.mm.yyyy", -1.0), ("h:mm", 2958466.0)])
def test_what_a_spreadsheet_fills_with_number_signs_has_no_text(code: str, value: float) -> None:
    assert CellFormat(code).show(value) is None
