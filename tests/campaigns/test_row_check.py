"""Rows against columns, placeholders and the rules of variables; and the dry run over a whole file."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.campaigns.audience.check.columns import MissingColumn, column_index
from drumbeat.campaigns.audience.check.row_check import row_check
from drumbeat.campaigns.audience.check.row_rules import RowRules
from drumbeat.campaigns.audience.check.suspects import surely_sendable
from drumbeat.campaigns.audience.open.reader import RowBatch
from drumbeat.campaigns.output.spreadsheet import EXPORT_COLUMNS, safe_cell
from drumbeat.campaigns.reject import Reject
from drumbeat.engine.core.template.variable import check_variable
from drumbeat.engine.errors import UsageError

HEADER = ["Phone ", "name", "NAME", "city"]
GOOD = "5511987654321"
Accepted = tuple[int, int, tuple[str, ...]]  # line, phone, variables


@pytest.mark.parametrize(
    ("wanted", "index"), [("name", 1), ("NAME", 2), ("phone", 0), ("Phone ", 0), (" CITY", 3)]
)
def test_columns_are_found_exactly_then_alike(wanted: str, index: int) -> None:
    assert column_index(HEADER, wanted, where="a.csv") == index


def test_a_missing_column_lists_those_there_are() -> None:
    with pytest.raises(MissingColumn, match=r'no column "town".*"Phone ", "name", "NAME", "city"'):
        column_index(HEADER, "town", where="a.csv")


@pytest.mark.parametrize(("columns", "end"), [(100, '"c19" and 80 more$'), (20, '"c19"$')])
def test_a_long_header_is_listed_in_part(columns: int, end: str) -> None:
    with pytest.raises(MissingColumn, match=end):
        column_index([f"c{n}" for n in range(columns)], "town", where="a.csv")


def test_an_audience_without_a_phone_column_is_refused_with_the_remedy() -> None:
    with pytest.raises(MissingColumn, match="name the column of the phone numbers with phone_column"):
        row_check(["mobile", "name"], "a.csv", RowRules())


@pytest.mark.parametrize("rows", [[], [[GOOD, ""], ["12", "Ana"]]])
def test_what_the_reader_refused_is_listed_among_the_rest_by_line(rows: list[list[str]]) -> None:
    unread = [Reject(line, "row_shape", "", "") for line in (1, 5, 3)]
    check = row_check(["phone", "name"], "a.csv", RowRules(params=("name",)))
    batch = check.check(RowBatch(0, (4, 2)[: len(rows)], rows, list(unread)))
    assert [reject.line for reject in batch.rejects] == ([1, 2, 3, 4, 5] if rows else [1, 3, 5])
    assert batch.rows == len(batch.rejects)


def test_an_ambiguous_column_is_refused() -> None:
    with pytest.raises(MissingColumn, match="2 times, in columns 2, 3"):
        column_index(HEADER, "Name", where="a.csv")


def checked(rows: list[list[str]], *params: str) -> tuple[list[Accepted], list[tuple[int, str, str]]]:
    check = row_check(["phone", "name", "city"], "a.csv", RowRules(params=params))
    batch = check.check(RowBatch(0, range(2, 2 + len(rows)), rows))
    accepted = list(zip(batch.lines, batch.phones, batch.variables, strict=True))
    return accepted, [(reject.line, reject.code, reject.column) for reject in batch.rejects]


@pytest.mark.parametrize(
    ("params", "variables"),
    [
        ((), ()),
        (("city",), ("Rio",)),
        (("=Hi",), ("Hi",)),
        (("city", "name"), ("Rio", "Ana")),
        (("=Hi", "name", "=a=b", "name"), ("Hi", "Ana", "a=b", "Ana")),
    ],
)
def test_variables_come_in_the_order_of_the_params(
    params: tuple[str, ...], variables: tuple[str, ...]
) -> None:
    assert checked([[GOOD, "Ana", "Rio"]], *params) == ([(2, int(GOOD), variables)], [])


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("", "variable_empty"),
        ("  ", "variable_empty"),
        ("a\nb", "variable_newline"),
        ("a\tb", "variable_tab"),
        ("a     b", "variable_spaces"),
        ("a\x00b", "variable_control"),
        ("x" * 1025, "variable_too_long"),
    ],
)
def test_bad_variables_cost_their_row_only(value: str, code: str) -> None:
    accepted, rejects = checked([[GOOD, value, "Rio"], [GOOD, "Ana", "Rio"]], "name")

    assert rejects == [(2, code, "name")]
    assert [line for line, _, _ in accepted] == [3]


@given(st.lists(st.text("aé \t\n\x00\x85\u2028\u00a0", max_size=12) | st.just("x" * 1000), max_size=3))
def test_the_fast_check_of_variables_never_accepts_a_bad_one(variables: list[str]) -> None:
    if surely_sendable(variables):
        assert all(check_variable(variable) is None for variable in variables)


def test_the_fast_check_accepts_ordinary_variables() -> None:
    assert surely_sendable(["João da Silva", "R$ 1.000,00", "20:30"])


def test_what_no_param_names_is_not_checked() -> None:
    assert checked([[GOOD, "", "a\nb"]], "=x")[1] == []


def test_a_row_without_any_text_is_no_row_and_a_phone_alone_missing_is() -> None:
    assert checked([["", " ", ""]], "name") == ([], [])
    assert checked([["", "Ana", ""]], "name") == ([], [(2, "phone_empty", "phone")])


def test_a_literal_that_cannot_be_sent_is_refused() -> None:
    with pytest.raises(UsageError, match="empty"):
        checked([], "=")


def test_columns_are_found_without_what_nobody_sees() -> None:
    header = ["\u200bphone\u00a0", "na\u00adme", "first  name"]
    found = [column_index(header, name, where="a.csv") for name in ("phone", "name", "First name")]
    assert found == [0, 1, 2]


@pytest.mark.parametrize("column", ["variable_1", "first name"])
def test_what_an_export_wrote_is_read_as_it_was(column: str) -> None:
    names = ["-10 %", "@ana", "'=1+1", "''-", "' =x", "it's", "'quoted'", "＝x"]
    header = [*EXPORT_COLUMNS, column]
    row = row_check(header, "a.csv", RowRules(params=(column,)))
    cells = [[GOOD, *[""] * (len(header) - 2), safe_cell(name)] for name in names]
    batch = row.check(RowBatch(0, range(2, 2 + len(cells)), cells))
    assert [variables for (variables,) in batch.variables] == names
    assert batch.rejects == []


def test_what_an_export_wrote_is_checked_as_it_was() -> None:
    row = row_check(["phone", "variable_1"], "a.csv", RowRules(params=("variable_1",)))
    batch = row.check(RowBatch(0, (2, 3), [[GOOD, "'-" + "x" * 1023], [GOOD, "'-" + "x" * 1024]]))
    assert [(reject.line, reject.code) for reject in batch.rejects] == [(3, "variable_too_long")]


def test_an_apostrophe_in_any_other_column_stays() -> None:
    assert checked([[GOOD, "'=x", "Rio"]], "name") == ([(2, int(GOOD), ("'=x",))], [])
