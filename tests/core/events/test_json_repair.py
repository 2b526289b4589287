"""Only what a strict reader refuses is replaced."""

import json

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from drumbeat.engine.core.events.json_repair import DEPTH_MAX, repair


@pytest.mark.parametrize(
    ("odd", "read"),
    [
        (b'"a\\ud800b"', "a\ufffdb"),
        (b'"\\udc00"', "\ufffd"),
        (b'"\\ud83d\\ude00 \\\\ud800 \\u0000"', "\U0001f600 \\ud800 \x00"),
        (b'"\xff"', "\ufffd"),
        (b'"a\x01b"', "a b"),
        (b"1e999", None),
        (b"-" + b"9" * 400, None),
        (b"NaN", None),
        (b"-Infinity", None),
        (b"[" * 5000 + b"]" * 5000, None),
        (b'{"a":' * 5000 + b'"}]"' + b"}" * 5000, None),
    ],
)
def test_the_odd_part_alone_is_replaced(odd: bytes, read: object) -> None:
    body = b'\xef\xbb\xbf{"before":[1.5,"\\"x"],"odd":%b,"after":{"a":true}}' % odd
    found = orjson.loads(repair(body))
    assert (found["before"], found["after"]) == ([1.5, '"x'], {"a": True})
    if len(odd) < 1_000:
        assert found["odd"] == read


def test_the_depth_is_bounded() -> None:
    found, depth = orjson.loads(repair(b"[" * 3_000 + b"]" * 3_000)), 0
    while found:
        (found,), depth = found, depth + 1
    assert depth == DEPTH_MAX


TREES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(TREES)
def test_good_json_stays(tree: object) -> None:
    written = json.dumps(tree).encode()
    assert json.loads(repair(written)) == tree


@given(st.binary())
def test_no_bytes_raise(body: bytes) -> None:
    repair(body)
