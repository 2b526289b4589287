"""Phones of whole lists: they belong to the country that the list says, and a list that says none is asked about."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from drumbeat.campaigns.audience.check.inspection import Inspection, inspect_audience
from drumbeat.campaigns.audience.check.row_check import row_check
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.open.opening import open_table
from drumbeat.campaigns.phones.kinds import Kind
from drumbeat.engine.errors import ConfigurationError
from tests.campaigns.audience_files import write_csv, write_json_lines, write_xlsx

Rows = Sequence[Sequence[str]]
FORMS: dict[str, Callable[[Path, Sequence[str], Rows], None]] = {
    "list.csv": write_csv,
    "list.xlsx": write_xlsx,
    "list.jsonl": write_json_lines,
}
AREAS = [*(f"415 555 {n:04}" for n in range(100, 130)), "479 555 0120", "479 555 0121", "479 555 0122"]


@pytest.fixture(params=FORMS)
def write(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., Path]:
    def written(header: Sequence[str], rows: Rows) -> Path:
        path = tmp_path / request.param
        FORMS[request.param](path, header, rows)
        return path

    return written


def checked(path: Path, **rules: object) -> Inspection:
    return inspect_audience(path, rejects_path=path.with_name("bad.csv"), rules=RowRules(**rules))  # type: ignore[arg-type]


def phones_of(path: Path, **rules: object) -> list[int]:
    with open_table(path) as source:
        table = source.table()
        check = row_check(table.header, table.name, RowRules(**rules))  # type: ignore[arg-type]
        return [phone for batch in check.batches(table) for phone in batch.phones]


@pytest.mark.parametrize("words", [("US", "GB", "DE", "US"), ("+1", "44", "0049", "1"), ("Estados Unidos",
    "United Kingdom", "Deutschland", "USA"), ("USA", "GBR", "DEU", "🇺🇸")])  # fmt: skip
def test_a_phone_is_of_the_country_that_its_row_names(
    write: Callable[..., Path], words: tuple[str, ...]
) -> None:
    numbers = ["(415) 555-0101", "020 7946 0958", "3023125001", "4795550123"]
    path = write(("land", "phone"), list(zip(words, numbers, strict=True)))
    phones = [14155550101, 442079460958, 493023125001, 14795550123]
    assert phones_of(path, country_column="Land") == phones
    assert checked(path, country_column="land").countries == {"US": 2, "GB": 1, "DE": 1}
    for region in (None, "US"):  # without the option, the column speaks up
        with pytest.raises(ConfigurationError, match=r'the column "land" names.*country_column "land"'):
            checked(path, region=region)
    assert checked(path, region="US", country_column="-").good == 3


def test_plain_digits_of_a_row_without_a_country_are_not_guessed(write: Callable[..., Path]) -> None:
    rows = [
        ("US", "4155550101"),
        ("GB", "2079460958"),
        ("US", "4155550102"),
        ("", "4795550123"),  # by chance a number of Norway
        ("", "+14155550103"),
        ("", "3023125001"),
    ]
    path = write(("country", "phone"), rows)
    assert phones_of(path, country_column="country") == [
        14155550101, 442079460958, 14155550102, 14155550103,
    ]  # fmt: skip
    found = checked(path, country_column="country")
    assert (found.good, found.reject_codes) == (4, {"country_unknown": 1, "phone_invalid": 1})
    assert checked(path, country_column="country", region="US").countries == {"US": 5, "GB": 1}


def test_rows_differ_in_what_they_say_of_their_country(write: Callable[..., Path]) -> None:
    rows = [
        ("Narnia", "+14155550101"),
        ("", "020 7946 0958"),  # as --region says
        ("DE", "+442079460959"),  # written with another country
        ("DE", "0044 20 7946 0960"),
        ("DE", "14155550102"),  # of no country that is known
        ("DE", "49 30 23125001"),
    ]
    path = write(("country", "phone"), rows)
    found = checked(path, region="GB", country_column="country")
    assert found.reject_codes == {"country_unknown": 1, "phone_other_country": 1}
    assert phones_of(path, region="GB", country_column="country") == [
        442079460958, 442079460959, 442079460960, 493023125001,
    ]  # fmt: skip
    (finding,) = found.findings
    assert (finding["code"], finding["count"]) == ("phone_country_differs", 2)
    listed = path.with_name("bad.csv").read_text("utf-8-sig").splitlines()
    assert "country_unknown,country," in listed[1]
    assert "Narnia" in listed[1]


@pytest.mark.parametrize(
    "numbers",
    [
        AREAS,
        [number.replace(" ", "") for number in AREAS],
        [
            "(479) 555-0120",
            "(479) 555-0121",
            "479-555-0122",
        ],  # each is a number of Norway, and is not meant so
        ["4155550100", "4155550101", *(f"479555{n:04}" for n in range(120, 128))],  # most are of Norway, too
    ],
)
def test_a_list_without_a_country_is_asked_about(write: Callable[..., Path], numbers: list[str]) -> None:
    path = write(("phone",), [(number,) for number in numbers])
    with pytest.raises(ConfigurationError, match="good as numbers of US") as refused:
        checked(path)
    assert "region US" in refused.value.remedy
    assert checked(path, region="US").countries == {"US": len(numbers)}
    assert checked(path, region="001").good < len(numbers) or "(" in numbers[0]


@pytest.mark.parametrize(
    ("numbers", "country"),
    [
        (["020 7946 0958", "07400 123456", "0117 496 0123"], "GB"),
        (["030 23125001", "0171 3920001", "0171 3920002"], "DE"),
        (["06 12 34 56 78", "06 12 34 56 79", "06 12 34 56 77", "+33 6 12 34 56 70"], "FR"),
    ],
)
def test_the_question_names_the_country(numbers: list[str], country: str, tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    write_csv(path, ("phone",), [(number,) for number in numbers])
    with pytest.raises(ConfigurationError, match=country):
        checked(path)
    assert checked(path, region=country).countries == {country: len(numbers)}


@pytest.mark.parametrize(
    "numbers",
    [
        [f"49171392{n:04}" for n in range(40)],
        ["5511987654321", "4915112345678", "14155550101", "442079460958", "12345"],
        ["55 11 98765-4321", "1-415-555-0101", "1 (415) 555-0102"],
        ["+14155550101", "+14155550102", "415 555 0103"],
        ["call me", "x", "14155550101"],
    ],
)
def test_a_list_of_international_numbers_is_read_without_a_question(
    numbers: list[str], tmp_path: Path
) -> None:
    path = tmp_path / "list.csv"
    write_csv(path, ("phone",), [(number,) for number in numbers])
    assert checked(path).good >= 1


@pytest.mark.parametrize(
    ("header", "country"),
    [("country", "Portugal"), ("country_code", "+351"), ("region", "Norte"), ("shipping country", "n/a")],
)
def test_a_column_of_countries_is_no_question_where_it_agrees_or_names_none(
    header: str, country: str, tmp_path: Path
) -> None:
    """Their owner lives there, and the phones are international ones."""
    path = tmp_path / "list.csv"
    write_csv(path, (header, "phone"), [(country, "351912345678"), (country, "+14155550101")])
    assert checked(path).good == 2


KINDS = [
    "+49 30 23125000", "+44 20 7946 0958", "+44 909 879 0000", "+1 900 555 0100", "+881 6 0000 0000",
    "+49 171 3920000", "+1 800 555 0199", "+33 800 123 456", "+8821612345678", "+61 1900 123 456",
]  # fmt: skip


def test_kinds_are_counted_and_left_out_if_asked_for(write: Callable[..., Path]) -> None:
    path = write(("phone",), [(number,) for number in KINDS])
    found = checked(path)
    assert found.kinds == {"mobile": 1, "landline": 2, "toll-free": 2, "premium": 3, "satellite": 2}
    assert found.countries == {"DE": 2, "GB": 2, "US": 2, "001": 2, "FR": 1, "AU": 1}
    left = checked(path, leave_out=frozenset([Kind.PREMIUM, Kind.SATELLITE]))
    assert left.reject_codes == {"phone_premium": 3, "phone_satellite": 2}
    others = checked(path, leave_out=frozenset([Kind.LANDLINE, Kind.TOLL_FREE]))
    assert others.reject_codes == {"phone_landline": 2, "phone_toll_free": 2}
    assert checked(path, only_mobile=True).reject_codes == {"phone_not_mobile": 9}


OLD = ["+225 07 00 00 01", "+2250707000001", "+229 97 00 00 00", "+229 01 97 00 00 00", "+225 45 12 34 56",
       "+84 163 123 4567"]  # fmt: skip


def test_old_numbers_are_named_or_repaired_to_duplicates_of_the_new_ones(write: Callable[..., Path]) -> None:
    path = write(("phone",), [(number,) for number in OLD])
    found = checked(path)
    assert found.reject_codes == {"phone_old_ci": 2, "phone_old_bj": 1, "phone_old_vn": 1}
    repaired = checked(path, repair_old=("CI", "bj", "VN"))
    assert (repaired.good, repaired.duplicates) == (6, 2)
    assert [finding["code"] for finding in repaired.findings] == ["phone_repaired"]
    lines = [line - found.form.startswith("JSON") for line in (2, 4, 6, 7)]
    assert repaired.findings[0]["lines"] == lines


def test_the_first_of_two_numbers_is_said(write: Callable[..., Path]) -> None:
    path = write(("phone",), [("+14155550101 ::: +14155550102",), ("+14155550103",)])
    assert checked(path).reject_codes == {"phone_two_numbers": 1}
    found = checked(path, first_number=True)
    assert (found.good, found.findings[0]["code"]) == (2, "phone_first_taken")
    assert phones_of(path, first_number=True) == [14155550101, 14155550103]
