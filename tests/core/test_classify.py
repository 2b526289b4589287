"""The table of errors, one row a code; the expectations are written out, not derived from the table."""

from __future__ import annotations

from errno import ECONNREFUSED, EMFILE, ENFILE

import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.classify import classify, not_connected
from drumbeat.engine.core.outcome import (
    Accepted,
    NotSent,
    Outcome,
    Rejected,
    Scope,
    Throttled,
    Transient,
    Unknown,
)

ACCOUNT_STOPS = [0, 190, 104, 3, 10, 200, 250, 299, 368, 131005, 131031, 131042]
NUMBER_STOPS = [131037, 131045, 133010, 133000, 33]
CAMPAIGN_STOPS = [132001, 132007, 132015, 132016, 132068]
TRANSIENTS = [131016, 131000, 2, 1, 131057, 132069, 133004]
SYSTEMATIC = [132000, 132012, 100, 131008, 131009, 131051, 131052, 131053, 131030]
PLAIN = [131026, 131047, 131021, 130472, 130497, 131049, 132005]


def reply(status: int, code: int | None, wait_s: float | None = None) -> Outcome:
    return classify(status, code, "why", None, wait_s)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
@pytest.mark.parametrize(
    ("codes", "scope"),
    [
        (ACCOUNT_STOPS, Scope.ACCOUNT),
        (NUMBER_STOPS, Scope.NUMBER),
        (CAMPAIGN_STOPS, Scope.TEMPLATE),
        (PLAIN, Scope.RECIPIENT),
    ],
)
def test_a_code_decides_whatever_the_status(codes: list[int], scope: Scope, status: int) -> None:
    for code in codes:
        assert reply(status, code) == Rejected(scope, code, str(code), "why")


@pytest.mark.parametrize("code", SYSTEMATIC)
def test_systematic_rejections_are_marked(code: int) -> None:
    assert reply(400, code) == Rejected(Scope.RECIPIENT, code, str(code), "why", systematic=True)


@pytest.mark.parametrize("code", TRANSIENTS)
def test_transient_codes_keep_the_hint_too(code: int) -> None:
    assert reply(500, code) == Transient(code, "why")
    assert reply(503, code, 120.0) == Transient(code, "why", 120.0)


@pytest.mark.parametrize(
    ("code", "scope"),
    [
        (130429, Scope.NUMBER),
        (131056, Scope.PAIR),
        (4, Scope.ACCOUNT),
        (17, Scope.ACCOUNT),
        (80007, Scope.ACCOUNT),
    ],
)
@pytest.mark.parametrize("status", [400, 429])
def test_throttles_keep_the_hint(code: int, scope: Scope, status: int) -> None:
    assert reply(status, code, 3.5) == Throttled(scope, code, 3.5, "why")


def test_a_number_flagged_for_spam_is_suspended_for_long() -> None:
    outcome = reply(400, 131048)
    assert isinstance(outcome, Rejected)
    assert (outcome.scope, outcome.suspend, outcome.wait_s) == (Scope.NUMBER, True, 86_400)
    hinted = reply(400, 131048, 60.0)
    assert isinstance(hinted, Rejected)
    assert hinted.wait_s == 60
    at_once = reply(400, 131048, 0.0)
    assert isinstance(at_once, Rejected)
    assert at_once.wait_s == 86_400, "a wait of nothing is no word"


def test_an_opt_out_suppresses() -> None:
    assert reply(400, 131050) == Rejected(Scope.RECIPIENT, 131050, "131050", "why", suppress=True)


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        (401, Rejected(Scope.ACCOUNT, None, "http_401", "why")),
        (403, Rejected(Scope.ACCOUNT, None, "http_403", "why")),
        (429, Throttled(Scope.NUMBER, None, None, "why")),
        (408, Transient(None, "why")),
        *(
            (status, Rejected(Scope.RECIPIENT, None, f"http_{status}", "why", systematic=True))
            for status in (400, 404, 407, 413, 418)
        ),
    ],
)
def test_without_a_code_the_status_decides(status: int, expected: Outcome) -> None:
    assert reply(status, None) == expected


@pytest.mark.parametrize(
    ("status", "code"),
    [(200, None), (200, 131026), (302, None), (307, 190), (399, 190), (500, None), (502, 999), (600, 190)],
)
def test_what_cannot_be_trusted_is_in_doubt(status: int, code: int | None) -> None:
    assert isinstance(reply(status, code), Unknown)


def test_an_unknown_code_fails_the_recipient_and_is_kept_and_in_a_row_points_at_the_campaign() -> None:
    assert reply(400, 987654) == Rejected(Scope.RECIPIENT, 987654, "987654", "why", systematic=True)


def test_a_named_message_is_accepted() -> None:
    assert classify(200, None, "", "wamid.A", None) == Accepted("wamid.A")
    assert classify(201, None, "", "wamid.A", None, held=True) == Accepted("wamid.A", held=True)


@pytest.mark.parametrize("status", [199, 300, 302, 400, 429, 500, 503])
def test_a_message_named_by_a_reply_that_is_no_acceptance_is_in_doubt(status: int) -> None:
    assert isinstance(classify(status, 131016, "", "wamid.A", None), Unknown)


@given(st.integers(-5, 700), st.none() | st.integers(-10, 140_000), st.none() | st.text(max_size=3))
def test_a_named_message_is_never_called_not_accepted(
    status: int, code: int | None, wamid: str | None
) -> None:
    outcome = classify(status, code, "", wamid, None)
    if wamid is not None:
        assert isinstance(outcome, Accepted | Unknown)
    if not 400 <= status < 600:
        assert isinstance(outcome, Accepted | Unknown)


@pytest.mark.parametrize(
    ("number", "exhausted"), [(EMFILE, True), (ENFILE, True), (ECONNREFUSED, False), (None, False)]
)
def test_a_lack_of_descriptors_of_ours_says_nothing_about_the_service(
    number: int | None, exhausted: bool
) -> None:
    assert not_connected("why", number) == NotSent("why", unreachable=not exhausted, exhausted=exhausted)
