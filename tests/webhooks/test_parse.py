"""Parsing never fails: every part of a body is kept somewhere, whatever it is."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.events.records import FOREIGN, NO_TAG, Parsed, StatusEvent
from drumbeat.engine.core.states import EvidenceRank
from drumbeat.engine.core.tag import Tag, encode
from drumbeat.engine.webhooks.parse import parse, read_template_status
from tests.webhooks.conversation import PRODUCT, change_body, status, statuses_body

NOW = datetime(2026, 7, 1, 0, 0, 0, 123457, tzinfo=UTC)
NOW_US = 1782864000 * 1_000_000 + 123457
TAG = Tag("abcd1234", 1 << 40, 7, 1, 3)
NUMBER = "100200300"

words = st.one_of(
    st.text(max_size=8), st.sampled_from(["id", "status", "sent", "messages", "statuses", "errors"])
)
trees = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-(2**53), 2**64 - 1), st.floats(allow_nan=False), words),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(words, inner, max_size=4)),
    max_leaves=20,
)


def sizes(parsed: Parsed) -> list[int]:
    return [len(part) for part in (parsed.statuses, parsed.messages, parsed.account, parsed.unreadable)]


def read_one(body: bytes) -> StatusEvent:
    parsed = parse(body, PRODUCT, NOW)
    assert len(parsed.statuses) == parsed.events == 1
    return StatusEvent(*parsed.statuses[0])


def test_a_whole_status() -> None:
    event = read_one(
        statuses_body(status("w", "delivered", biz_opaque_callback_data=encode(TAG), unknown_field=1))
    )
    at_us = 1780000000 * 1_000_000
    assert event == ("w", EvidenceRank.DELIVERED, at_us, "100200300", "5511912345678", *TAG, None, None, None)


def test_a_status_with_nothing_but_its_id() -> None:
    body = change_body("messages", {"statuses": [{"id": "w", "status": "read"}]})
    assert read_one(body) == ("w", EvidenceRank.READ, NOW_US, None, None, *NO_TAG, None, None, None)


@pytest.mark.parametrize(
    ("errors", "known"),
    [
        ([{"code": 131026, "title": "t", "error_data": {"details": "d"}}], (131026, "d")),
        ([{"code": 131026, "title": "t", "message": "m", "error_data": "text"}], (131026, "text")),
        ([{"code": 131026, "title": "t", "message": "m"}], (131026, "m")),
        ([{"code": 131026, "title": "t"}], (131026, "t")),
        ([{"code": "131026", "title": "t"}], (131026, "t")),
        ([{"code": 131026.0}], (131026, None)),
        ([{"code": 131026.5}], (None, None)),
        ([{"code": 1, "title": "\x1b[8mt\nu"}], (1, "[8mt u")),
        ([{"code": True}], (None, None)),
        ([{"code": "x"}], (None, None)),
        ([{"code": 2**40, "title": 5}], (None, "5")),
        ("nonsense", (None, None)),
        ([], (None, None)),
    ],
)
def test_why_it_failed(errors: Any, known: tuple[int | None, str | None]) -> None:
    assert read_one(statuses_body(status("w", "failed", errors=errors)))[-3:-1] == known


def test_errors_beside_another_status_are_no_failure() -> None:
    errors = [{"code": 131050, "title": "t"}]
    assert read_one(statuses_body(status("w", "read", errors=errors)))[-3:-1] == (None, None)


@pytest.mark.parametrize(
    ("pricing", "known"),
    [
        ({"billable": True, "pricing_model": "PMP", "category": "marketing"}, 3),
        ({"billable": False, "category": "service"}, 8),
        ({"billable": True, "category": "a new word"}, 1),
        ({"billable": "yes", "category": "marketing"}, None),
        ({"billable": True, "category": []}, None),
        ("marketing", None),
    ],
)
def test_what_is_charged(pricing: Any, known: int | None) -> None:
    assert read_one(statuses_body(status("w", "sent", pricing=pricing)))[-1] == known


@pytest.mark.parametrize("opaque", ["", None])
def test_empty_opaque_data_is_none(opaque: str | None) -> None:
    assert read_one(statuses_body(status("w", biz_opaque_callback_data=opaque)))[5:10] == NO_TAG


def test_a_text_for_people_is_cut_and_sanitised() -> None:
    assert read_one(statuses_body(status("w", recipient_id="5\x00511")))[4] == "5511"
    assert read_one(statuses_body(status("w", recipient_id="5" * 600)))[4] == "5" * 512


def test_texts_lose_a_nul_and_what_it_makes_unidentifiable_is_kept_as_bytes() -> None:
    value = {
        "statuses": [status("a\x00b"), status("w")],
        "messages": [{"id": "m", "from": "5511", "text": "a\x00\\u0000\\"}, {"id": "n\x00", "from": "5511"}],
    }
    parsed = parse(change_body("messages", value), PRODUCT, NOW)
    assert sizes(parsed) == [1, 1, 0, 2]
    assert orjson.loads(parsed.messages[0].body)["text"] == "a\\u0000\\"
    (event,) = parse(change_body("account_update", {"event": "A\x00"}), PRODUCT, NOW).account
    assert event.value == '{"event":"A"}'
    assert sizes(parse(change_body("account\x00update", {"event": "x"}), PRODUCT, NOW)) == [0, 0, 0, 1]


def test_a_whole_message_and_one_that_says_little() -> None:
    told = {"id": "m", "from": "5511", "timestamp": "1780000000", "type": "text", "text": {"body": "Hi"}}
    value = {"metadata": {"phone_number_id": NUMBER}, "messages": [told, {"id": "n", "from": 5511}]}
    whole, little = parse(change_body("messages", value), PRODUCT, NOW).messages
    assert whole[:5] == ("m", NUMBER, "5511", "text", datetime.fromtimestamp(1780000000, UTC))
    assert orjson.loads(whole.body) == told
    assert little[:5] == ("n", NUMBER, "5511", "unknown", NOW)


GOOD = {"changes": [{"field": "messages", "value": {"statuses": [status("w")]}}]}


@pytest.mark.parametrize(
    ("entries", "kept"),
    [
        ([GOOD, {"id": "1"}, "odd"], [1, 0, 0, 2]),
        ([GOOD, {"changes": ["odd", {"field": 7, "value": {}}, {"field": "messages"}]}], [1, 0, 0, 3]),
        ([GOOD, {"changes": [{"field": "messages", "value": {"errors": [{"code": 1}]}}]}], [1, 0, 1, 0]),
        ([{"changes": [{"field": "messages", "value": {"statuses": {"id": "w"}}}]}], [0, 0, 1, 1]),
        ([{"changes": [{"field": "messages", "value": {"statuses": [{"id": True}]}}]}], [0, 0, 0, 1]),
        ([], [0, 0, 0, 1]),
    ],
)
def test_every_odd_part_of_a_body_is_kept(entries: list[Any], kept: list[int]) -> None:
    body = {"object": f"{PRODUCT}_business_account", "entry": entries}
    assert sizes(parse(orjson.dumps(body), PRODUCT, NOW)) == kept


def test_events_of_another_product_are_ignored() -> None:
    body = orjson.dumps({"object": "page", "entry": [GOOD]})
    assert sizes(parse(body, PRODUCT, NOW)) == [0, 0, 0, 1]


def test_opaque_data_of_others_marks_the_message_as_not_ours() -> None:
    event = read_one(statuses_body(status("w", biz_opaque_callback_data="order-17")))
    assert event[5:10] == FOREIGN


@pytest.mark.parametrize("timestamp", ["soon", None, [], -5, "99999999999999", 1e300])
def test_a_time_that_is_none_is_when_it_came(timestamp: Any) -> None:
    assert read_one(statuses_body(status("w", timestamp=timestamp))).status_us == NOW_US


def test_an_unknown_word_is_evidence_of_acceptance_and_is_kept() -> None:
    parsed = parse(statuses_body(status("w", "warmed")), PRODUCT, NOW)
    assert StatusEvent(*parsed.statuses[0]).status == EvidenceRank.ACCEPTED
    assert b"warmed" in parsed.unreadable[0].part


def test_bad_parts_do_not_spoil_the_good_ones() -> None:
    value = {
        "statuses": [status("w"), 5, {"status": "sent"}, status("x" * 600)],
        "messages": ["text", {"id": "m"}, {"id": "m", "from": "5511"}],
    }
    parsed = parse(change_body("messages", value), PRODUCT, NOW)
    assert sizes(parsed) == [1, 1, 0, 5]


def test_a_depth_that_only_reading_bears_is_kept() -> None:
    deep = b'{"a":' * 500 + b"1" + b"}" * 500
    body = change_body("messages", {"messages": [{"id": "m", "from": "1", "deep": 0}]}).replace(
        b'"deep":0', b'"deep":' + deep
    )
    parsed = parse(body, PRODUCT, NOW)
    assert sizes(parsed) == [0, 0, 0, 1]


def test_what_an_account_event_is_about_fits_an_index() -> None:
    """Its whole body, statuses and all, would be refused otherwise."""
    value = {"message_template_name": "😀" * 512, "message_template_language": "😀" * 512, "event": "PAUSED"}
    (event,) = parse(change_body("message_template_status_update", value), PRODUCT, NOW).account
    assert event.subject.startswith("message_template_status_update:😀")
    assert len(event.subject.encode()) < 2_704


def test_template_and_account_events() -> None:
    value = {
        "event": "paused",
        "message_template_name": "offer",
        "message_template_language": "pt_BR",
        "x": 1,
    }
    parsed = parse(change_body("message_template_status_update", value, time=1780000000), PRODUCT, NOW)
    event = parsed.account[0]
    assert read_template_status(orjson.loads(event.value)) == ("offer", "pt_BR", "PAUSED", None)
    assert event.subject == "message_template_status_update:offer:pt_BR"
    assert event.occurred_at == datetime.fromtimestamp(1780000000, UTC)
    other = parse(change_body("account_update", {"event": "x"}), PRODUCT, NOW).account[0]
    assert (other.field, orjson.loads(other.value)) == ("account_update", {"event": "x"})


def test_texts_of_a_template_event_are_sanitised() -> None:
    names = ("event", "message_template_name", "message_template_language", "reason")
    assert read_template_status(dict.fromkeys(names, "\x1b[31mA\nB")) == ("[31mA B",) * 2 + (
        "[31MA B",
        "[31mA B",
    )


@pytest.mark.parametrize("absent", ["event", "message_template_name", "message_template_language"])
def test_a_template_event_that_lacks_a_part_is_none(absent: str) -> None:
    names = ("event", "message_template_name", "message_template_language")
    assert read_template_status({name: "x" for name in names if name != absent}) is None


def test_an_event_of_a_number_is_about_that_number() -> None:
    told = change_body("phone_number_quality_update", {"display_phone_number": "+55 11", "event": "FLAGGED"})
    assert parse(told, PRODUCT, NOW).account[0].subject == "phone_number_quality_update:+55 11"


@given(body=st.binary(max_size=200))
def test_any_bytes_are_kept(body: bytes) -> None:
    assert parse(body, PRODUCT, NOW).unreadable[0].part == body


@given(tree=trees)
def test_any_value_of_messages_is_somewhere(tree: Any) -> None:
    body = change_body("messages", {"statuses": [tree], "messages": [tree]})
    assert parse(body, PRODUCT, NOW).events >= 2


@given(tree=trees, place=st.sampled_from(["entry", "changes", "value", "whole"]))
def test_any_tree_anywhere_is_somewhere(tree: Any, place: str) -> None:
    whole: Any = {"object": f"{PRODUCT}_business_account", "entry": tree}
    if place == "changes":
        whole["entry"] = [{"changes": tree}]
    elif place == "value":
        whole["entry"] = [{"changes": [{"field": "messages", "value": tree}]}]
    elif place == "whole":
        whole = tree
    parsed = parse(orjson.dumps(whole), PRODUCT, NOW)
    assert parsed.events >= 1
    for text in (*(m.body for m in parsed.messages), *(event.value for event in parsed.account)):
        assert "\\u0000" not in text
