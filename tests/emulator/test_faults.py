"""Faults: each kind, what the client sees of it, and what the ledger says."""

import math
import random

import aiohttp
import pytest

from drumbeat.emulator.clock import Clock
from drumbeat.emulator.config import ConfigError, EmulatorConfig, FaultConfig, parse_fault
from drumbeat.emulator.faults.exchange import Exchange, ExchangeStage, Latency
from drumbeat.emulator.faults.table import Faults
from tests.emulator.conftest import NUMBER, OTHER_NUMBER, Client, Receiver, Start, template


async def accepted(client: Client) -> int:
    return int((await client.ask("ledger/summary"))["accepted"])


@pytest.mark.parametrize(
    ("kind", "in_ledger"),
    [
        ("lost-reply", 1),
        ("reset-before-reading", 0),
        ("reset-before-accepting", 0),
        ("reset-after-accepting", 1),
    ],
)
async def test_a_connection_that_breaks(client: Client, kind: str, in_ledger: int) -> None:
    await client.control("faults", kind=kind, count=1)
    with pytest.raises(aiohttp.ClientConnectionError):
        await client.send(template())
    assert await accepted(client) == in_ledger
    assert (await client.send(template("5511987654322"))).status == 200
    assert (await client.ask("faults"))["faults"][0]["occurred"] == 1


@pytest.mark.parametrize("taken", [True, False])
@pytest.mark.parametrize("with_body", [True, False])
async def test_a_server_error_with_and_without_body_and_acceptance(
    client: Client, with_body: bool, taken: bool
) -> None:
    await client.control("faults", kind="server-error", status=502, body=with_body, accepted=taken)
    answer = await client.send(template())
    assert answer.status == 502
    assert bool(answer.body) is with_body
    assert await accepted(client) == taken


async def test_latency_holds_the_reply_and_not_the_acceptance(client: Client) -> None:
    await client.control("faults", kind="latency", median_ms=60_000, sigma=0)
    with pytest.raises(TimeoutError):
        await client.send(template(), timeout=aiohttp.ClientTimeout(total=0.1))
    assert await accepted(client) == 1
    await client.call("DELETE", "/_emulator/faults")
    await client.control("faults", kind="latency", median_ms=5, sigma=1.0)
    assert (await client.send(template())).status == 200


async def test_the_jitter_spreads_the_latency_from_the_start(start: Start) -> None:
    client = await start(latency_ms=2.0, jitter=0.5)
    (fault,) = (await client.ask("faults"))["faults"]
    assert (fault["kind"], fault["median_ms"], fault["sigma"]) == ("latency", 2.0, 0.5)
    delays = []
    for seed in range(1_000):
        exchange = Exchange(NUMBER)
        Latency(0.002, 0.5).apply(exchange, random.Random(seed))
        delays.append(exchange.delay_s)
    low, median, high = (sorted(delays)[at] for at in (159, 500, 841))  # one sigma below and above
    assert median == pytest.approx(0.002, rel=0.1)
    assert [high / median, median / low] == pytest.approx([math.exp(0.5)] * 2, rel=0.1)


@pytest.mark.parametrize("wrong", [{"jitter": 0.5}, {"latency_ms": 5.0, "jitter": 9.0}])
def test_a_jitter_that_means_nothing_is_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ConfigError, match="jitter"):
        EmulatorConfig(**wrong)  # type: ignore[arg-type]


async def test_a_fault_may_keep_to_one_number(client: Client) -> None:
    await client.control("faults", kind="server-error", number=OTHER_NUMBER)
    assert (await client.send(template(), number=NUMBER)).status == 200
    assert (await client.send(template(), number=OTHER_NUMBER)).status == 503


async def test_latency_is_added_to_refusals_too(client: Client) -> None:
    await client.control("faults", kind="latency", median_ms=60_000)
    with pytest.raises(TimeoutError):
        await client.send(template(name="no_such"), timeout=aiohttp.ClientTimeout(total=0.1))
    assert await accepted(client) == 0


async def test_a_fault_of_events_may_keep_to_one_number(start: Start, receiver: Receiver) -> None:
    client = await start(callback=receiver.url, read_ratio=0.0)
    await client.control("faults", kind="events-missing", number=int(OTHER_NUMBER))
    silent = (await client.send(template(), number=OTHER_NUMBER)).wamid
    heard = (await client.send(template(), number=NUMBER)).wamid
    await receiver.until(lambda _: len(receiver.statuses(heard)) == 2)
    assert receiver.statuses(silent) == []
    assert (await client.ask("faults"))["faults"][0]["occurred"] == 2


@pytest.mark.parametrize(
    ("code", "http"),
    [(0, 401), (104, 401), (3, 403), (200, 403), (299, 403), (17, 400), (133000, 500), (131055, 400)],
)
async def test_every_code_can_be_asked_for(client: Client, code: int, http: int) -> None:
    await client.control("faults", kind="refusal", code=code)
    answer = await client.send(template())
    assert (answer.status, answer.code) == (http, code)


@pytest.mark.parametrize("code", [131031, 131053, 132015, 999_777])
async def test_an_accepted_message_may_fail_by_a_status_with_any_code(
    start: Start, receiver: Receiver, code: int
) -> None:
    client = await start(callback=receiver.url)
    await client.control("faults", kind="failed-status", code=code, count=1)
    failing, other = await client.send(template()), await client.send(template("5511987654322"))
    assert (failing.status, other.status) == (200, 200)
    await receiver.until(lambda _: len(receiver.statuses(failing.wamid)) == 2)
    await receiver.until(lambda _: len(receiver.statuses(other.wamid)) >= 2)
    sent, failed = receiver.statuses(failing.wamid)
    assert (sent["status"], failed["status"], failed["errors"][0]["code"]) == ("sent", "failed", code)
    assert "failed" not in [status["status"] for status in receiver.statuses(other.wamid)]


async def test_a_refusal_may_say_when_to_come_back_and_by_which_status(client: Client) -> None:
    await client.control("faults", kind="throttle-storm", status=429, retry_after_s=7, regain_minutes=2)
    answer = await client.send(template())
    assert (answer.status, answer.code, answer.headers["Retry-After"]) == (429, 130429, "7")
    assert '"estimated_time_to_regain_access":2' in answer.headers["X-Business-Use-Case-Usage"]


@pytest.mark.parametrize(("options", "word"), [({}, "held_for_quality_assessment"), ({"word": ""}, None)])
async def test_an_accepted_message_may_be_held_or_have_no_word(
    client: Client, options: dict[str, str], word: str | None
) -> None:
    await client.control("faults", kind="message-status", **options)
    answer = await client.send(template())
    assert answer.status == 200
    assert answer.body["messages"][0].get("message_status") == word
    assert await accepted(client) == 1


@pytest.mark.parametrize(
    "wrong",
    [
        {"kind": "gremlin"},
        {"kind": "latency", "median": 500},
        {"kind": "latency", "probabilty": 0.1},
        {"kind": "latency", "sigma": 1e6},
        {"kind": "latency", "median_ms": -1},
        {"kind": "latency", "median_ms": "nan"},
        {"kind": "latency", "median_ms": True},
        {"kind": "slow-bytes", "chunk_bytes": 1.5},
        {"kind": "slow-bytes", "pause_ms": "inf"},
        {"kind": "lost-reply", "until_s": "inf"},
        {"kind": "lost-reply", "from_s": -1},
        {"kind": "lost-reply", "count": -3},
        {"kind": "lost-reply", "count": True},
        {"kind": "lost-reply", "probability": True},
        {"kind": "lost-reply", "number": "4711"},
        {"kind": "server-error", "accepted": "perhaps"},
        {"kind": "refusal", "code": "x"},
        {"kind": "refusal", "status": 200},
        {"kind": "throttle-storm", "code": 4},
        {"kind": "quality-loss", "rating": "BLUE"},
        {"kind": "events-late", "delay_s": "nan"},
    ],
)
async def test_what_a_fault_cannot_be_is_named_and_changes_nothing(
    client: Client, wrong: dict[str, object]
) -> None:
    answer = await client.call(
        "POST", "/_emulator/faults", json={"faults": [{"kind": "throttle-storm"}, wrong]}
    )
    assert (answer.status, answer.code) == (400, 100)
    assert (await client.ask("faults"))["faults"] == []
    assert (await client.send(template())).status == 200


def test_faults_are_reproducible_by_their_seed() -> None:
    def strikes(seed: int) -> list[bool]:
        faults = Faults(seed, Clock(), ())
        faults.add(FaultConfig("lost-reply", 0.3))
        exchanges = [Exchange("1") for _ in range(200)]
        for exchange in exchanges:
            faults.apply(ExchangeStage.REPLY, exchange)
        return [exchange.reply == b"" for exchange in exchanges]

    assert strikes(1) == strikes(1) != strikes(2)
    assert 30 < sum(strikes(1)) < 90


def test_the_command_lines_spelling() -> None:
    assert parse_fault("lost-reply:0.01,count=5") == FaultConfig("lost-reply", 0.01, 5, {})
    assert parse_fault("server-error,status=500") == FaultConfig("server-error", 1.0, None, {"status": "500"})
    for wrong in ("lost-reply:2", "lost-reply:x", "lost-reply:0.1,count=x"):
        with pytest.raises(ConfigError):
            parse_fault(wrong)
