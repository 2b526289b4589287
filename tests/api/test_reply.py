"""Reads replies of services, replies of proxies, and damaged replies."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from drumbeat.engine.api.reply import DETAIL_CHARACTERS_MAX, ParsedReply, outcome_of, parse_error, parse_reply
from drumbeat.engine.core.outcome import Accepted, Outcome, Rejected, Scope, Throttled, Transient, Unknown


def parse(content: Any, status: int = 400, **headers: str) -> ParsedReply:
    return parse_reply(
        status,
        CIMultiDict({name.replace("_", "-"): text for name, text in headers.items()}),
        orjson.dumps(content),
    )


def error(**fields: Any) -> dict[str, Any]:
    return {"error": {"message": "m", "code": 131026, **fields}}


@pytest.mark.parametrize(
    ("content", "code", "detail"),
    [
        (error(error_data={"messaging_product": "chat", "details": "why"}), 131026, "why"),
        (error(), 131026, "m"),
        (error(error_data="plain"), 131026, "plain"),
        (error(error_data=["odd"]), 131026, "m"),
        (error(error_data={"details": 7}), 131026, "m"),
        (error(error_user_msg="for people"), 131026, "for people"),
        (error(code="190"), 190, "m"),
        (error(code=190.0), 190, "m"),
        (error(code="x"), None, "m"),
        (error(code=True), None, "m"),
        (error(code=None), None, "m"),
        (error(code=1e300), None, "m"),
        (error(code="nan"), None, "m"),
        ({"error": "gone"}, None, "gone"),
        (error(message="a\x00b", error_data=None), 131026, "ab"),
        (error(message="\x1b[2Ja\r\nb\x9b1m"), 131026, "[2Ja  b1m"),
    ],
)
def test_errors_of_every_shape(content: Any, code: int | None, detail: str) -> None:
    assert parse(content) == ParsedReply(code, detail)
    assert parse_error(orjson.dumps(content)) == ParsedReply(code, detail)


@pytest.mark.parametrize(
    "body", [b"", b"<html>", b"\xff\xfe", b"[]", b"7", b'{"error":[]}', b'{"messages":{}}']
)
def test_bodies_without_an_error_have_no_code(body: bytes) -> None:
    reply = parse_reply(500, {}, body)
    assert (reply.code, reply.wamid, reply.wait_s) == (None, None, None)


def test_a_body_that_is_not_json_is_quoted_without_control_characters() -> None:
    assert parse_error(b"<b>\x1b[31mno\n\x07way</b>") == ParsedReply(None, "<b>[31mno way</b>")


def test_a_long_detail_is_cut() -> None:
    assert len(parse(error(message="x" * 9_000)).detail) == DETAIL_CHARACTERS_MAX


@pytest.mark.parametrize(
    "messages",
    [[], [{}], [{"id": ""}], [{"id": 7}], [{"id": "x" * 513}], [{"id": "a\x00"}], ["wamid"], None, "wamid"],
)
def test_a_message_without_a_usable_id_is_in_doubt(messages: Any) -> None:
    assert isinstance(outcome_of(200, {}, orjson.dumps({"messages": messages})), Unknown)


@pytest.mark.parametrize(
    ("status", "held"),
    [("accepted", False), ("held_for_quality_assessment", True), ("paused", True), (None, False)],
)
def test_a_message_with_an_id_is_accepted(status: str | None, held: bool) -> None:
    body = orjson.dumps(
        {"messages": [{"id": "wamid.A", "message_status": status}, {"id": "wamid.B"}], "more": 1}
    )
    assert outcome_of(200, {}, body) == Accepted("wamid.A", held)


def test_a_message_with_an_id_under_another_status() -> None:
    body = b'{"messages":[{"id":"wamid.A","message_status":"held_for_quality_assessment"}]}'
    assert outcome_of(201, {}, body) == Accepted("wamid.A", held=True)
    for status in (302, 400, 500):
        assert isinstance(outcome_of(status, {}, body), Unknown), "it may have been accepted"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (error(code=999_777, is_transient=True), Transient(999_777, "m")),
        (error(code=131026, is_transient=True), Transient(131026, "m")),
        (error(code=131026, is_transient="true"), Rejected(Scope.RECIPIENT, 131026, "131026", "m")),
        (
            error(code=131050, is_transient=True),
            Rejected(Scope.RECIPIENT, 131050, "131050", "m", suppress=True),
        ),
        (error(code=190, is_transient=True), Rejected(Scope.ACCOUNT, 190, "190", "m")),
        (error(code=130429, is_transient=True), Throttled(Scope.NUMBER, 130429, None, "m")),
        (error(code=100, error_subcode=33), Rejected(Scope.NUMBER, 33, "33", "m")),
        (error(code="100", error_subcode="33"), Rejected(Scope.NUMBER, 33, "33", "m")),
        (error(code=100, error_subcode=7), Rejected(Scope.RECIPIENT, 100, "100", "m", systematic=True)),
    ],
)
def test_the_words_beside_the_code_count(body: Any, expected: Outcome) -> None:
    assert outcome_of(400, {}, orjson.dumps(body)) == expected


def test_a_transient_error_of_a_server_that_failed_stays_in_doubt() -> None:
    body = orjson.dumps(error(code=999_777, is_transient=True))
    assert isinstance(outcome_of(502, {}, body), Unknown)


def test_a_body_that_is_not_json_is_quoted() -> None:
    assert parse_error(b"<html>\n <b>Bad</b>\x00  gateway") == ParsedReply(None, "<html> <b>Bad</b> gateway")


DATE = "Mon, 04 May 2026 12:00:00 GMT"


@pytest.mark.parametrize(
    ("headers", "wait_s"),
    [
        ({"Retry_After": "7"}, 7),
        ({"retry_after": " 7 "}, 7),
        ({"Retry_After": "0"}, 0),
        ({"Retry_After": "-3"}, None),
        ({"Retry_After": "soon"}, None),
        ({"Retry_After": "٧"}, None),
        ({"Retry_After": "9" * 5_000}, 86_400),
        ({"Retry_After": "Mon, 04 May 2026 12:01:30 GMT", "Date": DATE}, 90),
        ({"Retry_After": "Mon, 04 May 2026 14:01:30 +0200", "Date": DATE}, 90),
        ({"Retry_After": "Mon, 04 May 2026 12:01:30 -0000", "Date": DATE}, 90),
        ({"Retry_After": "Mon, 04 May 2026 11:00:00 GMT", "Date": DATE}, None),
        ({"Retry_After": "Fri, 01 Jan 2999 00:00:00 GMT"}, 86_400),
        ({"X_Business_Use_Case_Usage": '{"55":[{"type":"m","estimated_time_to_regain_access":2}]}'}, 120),
        ({"X_Business_Use_Case_Usage": '{"55":[{"estimated_time_to_regain_access":0}]}'}, None),
        ({"X_Business_Use_Case_Usage": '{"55":[7,{"call_count":1}],"56":3}'}, None),
        ({"X_Business_Use_Case_Usage": "{oops"}, None),
        (
            {
                "Retry_After": "7",
                "X_Business_Use_Case_Usage": '{"5":[{"estimated_time_to_regain_access":"1"}]}',
            },
            60,
        ),
    ],
)
def test_the_wait_that_the_service_asks_for(headers: dict[str, str], wait_s: float | None) -> None:
    assert parse(error(code=130429), 429, **headers).wait_s == wait_s
    outcome = outcome_of(
        429,
        CIMultiDict({n.replace("_", "-"): t for n, t in headers.items()}),
        orjson.dumps(error(code=130429)),
    )
    assert isinstance(outcome, Throttled)
    assert outcome.wait_s == wait_s


json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False)
    | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["error", "code", "messages", "id", "error_data", "details"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(st.integers(100, 599), json_values | st.binary(max_size=40), st.text(max_size=20))
def test_no_reply_raises(status: int, content: Any, header: str) -> None:
    body = content if isinstance(content, bytes) else orjson.dumps(content)
    headers = {"Retry-After": header, "x-business-use-case-usage": header, "Date": header}
    outcome = outcome_of(status, CIMultiDict(headers), body)
    assert isinstance(outcome, Accepted) <= (200 <= status < 300)
