"""The control plane: reset, seed, scenarios, faults of events, the clock, commands that cannot be."""

from pathlib import Path
from typing import Any

import orjson
import pytest
import yarl
from structlog.testing import capture_logs

from drumbeat.emulator.config import ConfigError
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.events.envelope import Update
from drumbeat.emulator.scenario import read_scenario
from drumbeat.emulator.site import check_site
from drumbeat.emulator.templates.template import Template
from tests.emulator.conftest import ACCOUNT, ANA, NUMBER, Client, Receiver, Start, template
from tests.kit.waiting import until

SCENARIO = """
name = "a bad minute"
seed = 7

[[fault]]
kind = "server-error"
status = 503
probability = 0.5
until_s = 60

[[fault]]
kind = "throttle-storm"
from_s = 60
until_s = 120
"""


async def play(client: Client, text: str) -> Any:
    answer = await client.call("POST", "/_emulator/scenario", data=text.encode())
    assert answer.status == 200, answer
    return answer.body


async def test_a_scenario_is_the_same_each_time(client: Client) -> None:
    async def minute() -> list[int]:
        assert (await play(client, SCENARIO))["seed"] == 7
        return [(await client.send(template(f"55119{number:07d}"))).status for number in range(40)]

    first = await minute()
    assert first == await minute()
    assert set(first) == {200, 503}
    assert (await client.ask("health"))["seed"] == 7


async def test_a_scenario_has_its_seconds(client: Client) -> None:
    await play(client, SCENARIO)
    await client.control("clock", seconds=60)
    answer = await client.send(template())
    assert (answer.status, answer.code) == (400, 130429)
    await client.control("clock", seconds=60)
    assert (await client.send(template())).status == 200


@pytest.mark.parametrize(
    "text",
    ["x", "speed = 1", "seed = 'a'", "fault = 1", "[[fault]]\ncount = 1", "[[fault]]\nkind = 'gremlin'"],
)
async def test_a_scenario_that_cannot_be_is_error_100(client: Client, text: str) -> None:
    await client.send(template())
    answer = await client.call("POST", "/_emulator/scenario", data=text.encode())
    assert (answer.status, answer.code) == (400, 100)
    assert (await client.ask("ledger/summary"))["accepted"] == 1  # it has not even begun
    if "gremlin" not in text:
        with pytest.raises(ConfigError):
            read_scenario(text)


async def test_slow_bytes_come_whole_in_the_end(client: Client) -> None:
    await client.control("faults", kind="slow-bytes", chunk_bytes=50, pause_ms=1)
    answer = await client.send(template())
    assert answer.status == 200
    assert answer.wamid.startswith("wamid.")


async def test_a_refusal_of_choice(client: Client) -> None:
    await client.control("faults", kind="refusal", code=131048)
    assert (await client.send(template())).code == 131048
    assert (await client.ask("ledger/summary"))["numbers"][NUMBER]["errors"] == {"131048": 1}


async def test_a_number_loses_quality_by_a_fault(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    await client.control("faults", kind="quality-loss", count=1)
    assert (await client.send(template())).status == 200
    event = (await receiver.until(lambda _: receiver.changes("phone_number_quality_update")))[0]
    assert event["event"] == "FLAGGED"


async def test_events_missing(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, read_ratio=0.0)
    await client.control("faults", kind="events-missing", count=1)
    await client.send(template())
    await client.settled()
    assert len(receiver.statuses()) == 1


async def test_events_twice(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, read_ratio=0.0)
    await client.control("faults", kind="events-duplicate", count=1)
    await client.send(template())
    await client.settled()
    words = [status["status"] for status in receiver.statuses()]
    assert len(words) == 3
    assert len(set(words)) == 2


async def test_events_late(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, read_ratio=0.0)
    await client.control("faults", kind="events-late", count=1, delay_s=3600)
    await client.send(template())
    await receiver.until(lambda _: len(receiver.statuses()) == 1)
    assert (await client.ask("events/summary"))["scheduled"] == 1
    await client.control("clock", seconds=3600)
    await receiver.until(lambda _: len(receiver.statuses()) == 2)


async def test_events_reordered(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url)
    client.emulator.service.schedule._delay_ns = [10**9] * 4
    await client.control("faults", kind="events-reordered")
    for number in range(20):
        await client.send(template(f"55119{number:07d}"))
    await client.control("clock", seconds=3600)
    await client.settled()
    arrived = [(status["id"], status["timestamp"]) for status in receiver.statuses()]
    assert len(arrived) >= 40
    assert arrived != sorted(arrived, key=lambda each: int(each[1]))


async def test_a_reset_takes_back_everything_and_may_set_the_seed(client: Client) -> None:
    await client.send(template())
    await client.control("faults", kind="throttle-storm")
    await client.control("numbers", id=NUMBER, rate_per_s=3)
    await client.control("accounts", id="77")
    await client.control("reset", seed=99)
    health = await client.ask("health")
    assert (health["accepted"], health["seed"], health["accounts"]) == (0, 99, [ACCOUNT])
    assert (await client.ask("faults"))["faults"] == []
    assert (await client.ask("ledger/summary"))["numbers"][NUMBER]["rate_per_s"] == 1000
    assert (await client.send(template())).status == 200


async def test_one_event_that_cannot_be_delivered_does_not_stop_the_others(
    start: Start, receiver: Receiver
) -> None:
    client = await start(callback=receiver.url)
    nested: dict[str, Any] = {}
    for _ in range(300):
        nested = {"deeper": nested}
    incoming = {"from": ANA, "type": "location", "location": nested}
    answer = await client.call("POST", "/_emulator/incoming", json=incoming)
    assert (answer.status, answer.code) == (400, 100)
    (subscriber,) = client.emulator.service.events.subscribers
    with capture_logs() as logs:  # a traceback that shows the nested value would take 12 s of CPU
        subscriber.queue(Update(ACCOUNT, NUMBER, "account_update", nested))
        await until(lambda: logs)
    assert [line["event"] for line in logs] == ["event_delivery_failed"]
    wamid = (await client.send(template())).wamid
    await receiver.until(lambda _: receiver.statuses(wamid))


async def test_a_seed_beyond_json_is_refused(client: Client) -> None:
    for command in ("reset", "scenario"):
        body = b"seed = 99999999999999999999" if command == "scenario" else b'{"seed": 9007199254740993}'
        answer = await client.call("POST", f"/_emulator/{command}", data=body)
        assert (answer.status, answer.code) == (400, 100)
    assert (await client.ask("health"))["seed"] == 1


@pytest.mark.parametrize("path", ["/_emulator/snapshot", "/%5femulator/snapshot"])
async def test_a_page_of_another_site_cannot_have_a_file_written(
    client: Client, tmp_path: Path, path: str
) -> None:
    """A form or a no-cors fetch of a page: no browser asks before it sends these."""
    url, file = yarl.URL(client.emulator.url + path, encoded=True), tmp_path / "state.json"
    content = orjson.dumps({"path": str(file)})
    for origin, status in (("http://elsewhere.example", 403), ("null", 403), (client.emulator.url, 200)):
        headers = {"Origin": origin, "Content-Type": "text/plain"}
        async with client.session.post(url, data=content, headers=headers) as reply:
            assert (reply.status, file.exists()) == (status, status == 200)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("rebound.example:8081", 403),
        ("127.0.0.1.example", 403),
        ("", 403),
        ("[::1", 403),
        ("192.0.2.7:8081", 200),
        ("[::1]:8081", 200),
        ("LOCALHOST.:8081", 200),
        ("emulator:8081", 200),
        ("emulator.tests.svc.cluster.local", 200),
    ],
)
async def test_a_name_that_anybody_can_own_reaches_no_control_plane(
    client: Client, host: str, status: int
) -> None:
    """A page may point its own host name here. To the browser both are then one site."""
    headers = {"Host": host, "Origin": f"http://{host}"}
    answer = await client.call("POST", "/_emulator/clock", json={"seconds": 1}, headers=headers)
    assert answer.status == status
    assert (await client.call("GET", "/_emulator/health", headers={"Host": host})).status == status
    assert (await client.send(template(), headers={"Host": host})).status == 200, "where a token is asked for"


def test_the_name_it_serves_on_reaches_it_and_so_does_a_client_that_names_none() -> None:
    check_site({b"host": b"emulator.EXAMPLE:8081"}, "Emulator.example")
    check_site({}, "127.0.0.1")  # no browser: each of them names a host
    with pytest.raises(Refused, match=r'"emulator\.example".*--host'):
        check_site({b"host": b"emulator.example"}, "0.0.0.0")


async def test_the_clock_only_moves_ahead(client: Client) -> None:
    before = await client.ask("health")
    await client.control("clock", seconds=86_400)
    after = await client.ask("health")
    assert after["unix_s"] - before["unix_s"] >= 86_400
    for wrong in (-1, "x", None, 1e12, True):
        answer = await client.call("POST", "/_emulator/clock", json={"seconds": wrong})
        assert (answer.status, answer.code) == (400, 100)


def test_the_first_parameter_fills_the_first_placeholder_wherever_it_stands() -> None:
    body = {"type": "BODY", "text": "{{2}}, {{10}}, {{1}} and {{2}}"}
    drawn = Template("1", "a", "en", "UTILITY", [body]).bubble(["one", "two", "ten"])
    assert drawn["body"] == "two, ten, one and two"
    named = {"type": "BODY", "text": "{{b}} {{a}}"}
    drawn = Template("1", "a", "en", "UTILITY", [named], parameter_format="NAMED").bubble(["first", "second"])
    assert drawn["body"] == "first second"


async def test_the_overview_shows_messages_as_on_a_phone(client: Client) -> None:
    await client.send(template(ANA, "Ana", "LH-7"))
    await client.send(template(ANA, "Rui", "half price", name="spring_offer"))
    seen = await client.ask("overview")
    last, first = seen["messages"]
    assert first["body"] == "Hi Ana, your order LH-7 is on its way."
    assert first["footer"] == "Lantern Home Goods"
    assert last["header"] == "Spring at Lantern"
    assert last["buttons"] == ["Show me", "Open the shop"]
    assert seen["numbers"][0]["accepted"] == 2


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("numbers", {"id": "abc"}),
        ("numbers", {"id": NUMBER, "rate_per_sec": 5}),
        ("accounts", {"id": ACCOUNT, "lock": 131031}),
        ("apps", {"id": "1", "secret": "s", "url": "http://127.0.0.1:1/"}),
        ("tokens", {"value": "a", "expires_s": 5}),
        ("templates/order_shipped/status", {"status": "PAUSED", "lang": "en_US"}),
        ("callback", {"callback": "http://127.0.0.1:1/"}),
        ("statuses", {"on": True, "delay": 0}),
        ("clock", {"seconds": 1, "minutes": 1}),
        ("recipients", {"to": ANA, "off_network": True}),
        ("reset", {"seeds": 5}),
        ("numbers", {"id": NUMBER, "rate_per_s": "fast"}),
        ("numbers", {"id": NUMBER, "rate_per_s": -1}),
        ("numbers", {"id": NUMBER, "messaging_limit_tier": "TIER_SEVEN"}),
        ("numbers", {"id": NUMBER, "quality_rating": "BLUE"}),
        ("numbers", {"id": "1", "account": "none"}),
        ("tokens", {"value": ""}),
        ("tokens", {"value": "a", "permissions": ["all"]}),
        ("templates/order_shipped/status", {"status": "FINE"}),
        ("templates/none/status", {"status": "PAUSED"}),
        ("callback", {"url": "ftp://x"}),
        ("statuses", {"on": "yes"}),
        ("incoming", {"from": "abc"}),
        ("incoming", {"from": ANA, "type": "smell"}),
        ("incoming", {"from": ANA, "type": "location"}),
        ("incoming", {"from": ANA, "type": "image", "file": "%"}),
        ("incoming", {"from": ANA, "phone_number_id": "none"}),
        ("recipients", {"to": "abc"}),
        ("recipients", {"to": ANA, "on_network": "yes"}),
        ("reads", {"id": "wamid.none"}),
        ("faults", {"kind": "latency", "median_ms": "slow"}),
        ("faults", {"kind": "server-error", "status": 200}),
        ("faults", {"kind": "lost-reply", "probability": 0}),
        ("callback", {"url": "http://"}),
        ("callback", {"url": "http://127.0.0.1:99999/webhook"}),
        ("accounts", {"id": ACCOUNT, "locked": 5}),
        ("apps", {"id": "1"}),
    ],
)
async def test_a_command_that_cannot_be_is_an_error(client: Client, path: str, content: Any) -> None:
    answer = await client.call("POST", f"/_emulator/{path}", json=content)
    assert answer.status in (400, 404)
    assert answer.code in (33, 100, 132001)


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("accounts", {"id": ACCOUNT, "locked": 131031, "event": 5}),
        ("accounts", {"id": "77", "event": 5}),
        ("numbers", {"id": NUMBER, "rate_per_s": 5, "quality_rating": "BLUE"}),
        ("numbers", {"id": NUMBER, "status": "BANNED", "messaging_limit_tier": "TIER_SEVEN"}),
        ("numbers", {"id": "7701", "verified_name": 5}),
        ("recipients", {"to": ANA, "on_network": False, "blocks": "yes"}),
        ("recipients", {"to": "5511900000001", "reads": "yes"}),
    ],
)
async def test_a_command_that_is_wrong_in_part_changes_nothing(
    client: Client, path: str, content: Any
) -> None:
    before = await client.ask("snapshot")
    answer = await client.call("POST", f"/_emulator/{path}", json=content)
    assert (answer.status, answer.code) == (400, 100)
    after = await client.ask("snapshot")
    for state in (before, after):
        del state["now_ns"], state["unix_s"], state["next_id"], state["errors"]
    assert after == before
