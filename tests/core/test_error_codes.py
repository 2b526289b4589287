"""The table of error codes: complete, and with a meaning in every row. test_classify tests what the flow does."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.error_codes import (
    ERROR_CODES,
    HTTP_STATUSES,
    UNLISTED,
    meaning_of,
    opts_out,
    pause_reason,
    remedy_of,
    shared_by,
)
from drumbeat.engine.core.outcome import Rejected, Scope, Throttled
from drumbeat.engine.core.states import REASONS, ReasonCode

INTERFACE = [190, 131030, 131047, 132001, 132012, 130429, 131026, 131056]
OPEN_POINT = [
    *(
        0,
        104,
        3,
        10,
        *range(200, 300),
        4,
        17,
        80007,
        131048,
        131016,
        131000,
        2,
        1,
        131057,
        133004,
        368,
        131031,
    ),
    *(131042, 131045, 133010, 133000, 33, 132015, 132016, 132000, 131021, 130472, 130497, 131049, 131050),
    *(100, 131008, 131009, 131051, 131052, 131053),
    *(131005, 131037, 132005, 132007, 132068, 132069),
]


def test_the_table_has_every_code_of_the_interface_and_of_the_open_point_and_no_other() -> None:
    assert sorted(ERROR_CODES) == sorted(INTERFACE + OPEN_POINT)


def test_every_code_has_a_meaning_of_its_own() -> None:
    """Codes that only defer, too: the report of a paused campaign says why everybody waits."""
    assert [code for code in ERROR_CODES if meaning_of(str(code)) in ("", UNLISTED.meaning)] == []


def test_what_pauses_a_campaign_a_number_or_the_account_has_a_remedy() -> None:
    pauses = {Scope.TEMPLATE, Scope.NUMBER, Scope.ACCOUNT}
    for code, row in ERROR_CODES.items():
        assert remedy_of(str(code)) or row.outcome is not Rejected or row.scope not in pauses, code


def test_an_unlisted_code_says_so_and_a_status_stands_for_a_missing_code() -> None:
    assert [meaning_of(reason) for reason in ("7777", "199", "300")] == [UNLISTED.meaning] * 3
    assert meaning_of("http_404") == "HTTP 404 without an error code"
    assert meaning_of("the connection was lost") == ""
    assert remedy_of("http_401") == remedy_of("190")


@given(st.text(max_size=12) | st.from_regex(r"(http_)?[0-9]*", fullmatch=True))
def test_any_recorded_reason_has_a_meaning_or_none(reason: str) -> None:
    assert isinstance(meaning_of(reason), str)
    assert isinstance(remedy_of(reason), str)


def test_only_131050_is_an_opt_out() -> None:
    assert [code for code in ERROR_CODES if opts_out(code)] == [131050]
    assert not opts_out(None)
    assert not opts_out(7777)


@pytest.mark.parametrize(
    ("names", "code", "exit_code"),
    [
        (["0", "104", "190", "http_401"], ReasonCode.AUTHENTICATION_FAILED, 77),
        (["3", "10", "http_403", "200", "250", "299"], ReasonCode.PERMISSION_MISSING, 77),
        (["368", "131031", "131042"], ReasonCode.ACCOUNT_REFUSED, 75),
        (["132001", "132015", "132016"], ReasonCode.TEMPLATE_REFUSED, 75),
        (["131045", "133010"], ReasonCode.NUMBERS_STOPPED, 75),
        (["http_404", "http_407"], ReasonCode.ADDRESS_REFUSED, 75),
        (["100", "132000", "131030", "http_429", "300", "hand", ""], ReasonCode.RECIPIENTS_REFUSED, 75),
    ],
)
def test_a_refusal_pauses_campaigns_for_a_reason_with_an_exit_code(
    names: list[str], code: ReasonCode, exit_code: int
) -> None:
    assert {pause_reason(name) for name in names} == {code}
    assert REASONS[code].error.exit_code == exit_code


def test_what_refusals_in_a_row_stop() -> None:
    """Twenty in a row: a test number sends to nobody else; a wrong address or a proxy concerns everything."""
    systematic = [code for code, row in ERROR_CODES.items() if row.systematic]
    assert sorted(systematic) == [100, 131008, 131009, 131030, 131051, 131052, 131053, 132000, 132012]
    names = [*map(str, systematic), "7777", "http_400", "http_404", "http_407"]
    found = {name: shared_by(name) for name in names}
    assert {name for name, scope in found.items() if scope is Scope.NUMBER} == {"131030"}
    assert {name for name, scope in found.items() if scope is Scope.ACCOUNT} == {"http_404", "http_407"}
    assert Scope.RECIPIENT not in found.values()


def test_every_code_has_a_meaning_and_a_remedy() -> None:
    """A person who reads a code on a page is told what to do about it."""
    rows = [*ERROR_CODES.values(), *HTTP_STATUSES.values(), UNLISTED]
    assert [row for row in rows if not (row.meaning and row.remedy)] == []
    waits = [row for row in rows if row.outcome is Throttled]
    assert all("If it failed, retry it" in row.remedy for row in waits), "a throttle ends in a failure, too"
