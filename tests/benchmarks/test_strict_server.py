"""The strict server accepts a limit in any second, and is a second judge for the engine."""

import http.client

import orjson
import pytest

from drumbeat.benchmarks.harness.emulators import EmulatorSpec
from drumbeat.benchmarks.harness.strict_server import SECOND_NS, SlidingSecond, strict_server


@pytest.mark.parametrize(
    ("limit", "at_ms", "admitted"),
    [
        pytest.param(2, [0, 1, 2], [True, True, False], id="a third within the second"),
        pytest.param(2, [0, 1, 1_000], [True, True, True], id="the first has left the half-open second"),
        pytest.param(2, [0, 500, 999, 1_000, 1_001], [True, True, False, True, False], id="it slides"),
        pytest.param(1, [0, 999, 1_000], [True, False, True], id="a throttled request does not count"),
    ],
)
def test_no_second_holds_more_than_the_limit(limit: int, at_ms: list[int], admitted: list[bool]) -> None:
    judge = SlidingSecond(limit)
    assert [judge.admit(SECOND_NS + ms * 1_000_000) for ms in at_ms] == admitted
    assert judge.accepted == sum(admitted)
    assert judge.largest <= limit


def test_it_accepts_throttles_and_counts_over_http() -> None:
    with strict_server(EmulatorSpec(numbers=2, rate_per_s=3.0)) as server:
        connection = http.client.HTTPConnection(server.url.removeprefix("http://"))
        replies = []
        for _ in range(4):
            connection.request("POST", f"/v22.0/{server.numbers[1]}/messages", b"{}")
            reply = connection.getresponse()
            replies.append((reply.status, orjson.loads(reply.read())))
        connection.close()
        assert [status for status, _ in replies] == [200, 200, 200, 400]
        assert replies[0][1]["messages"][0]["id"].startswith("wamid.")
        assert replies[3][1]["error"]["code"] == 130429
        assert server.accepted() == 3
        assert [number["largest_window"] for number in server.ledger().values()] == [0, 3]
