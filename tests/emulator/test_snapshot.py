"""Snapshots: the whole state, kept and taken back, in this emulator or in another."""

from pathlib import Path
from typing import Any

from tests.emulator.conftest import ACCOUNT, ANA, NUMBER, OTHER_NUMBER, Client, Start, template


async def furnish(client: Client) -> str:
    """Something of everything that a snapshot keeps; returns the id of a message."""
    await client.control("accounts", id="77", verified=False)
    await client.control("numbers", id="7701", account="77", rate_per_s=5, messaging_limit_tier="TIER_250")
    await client.control("numbers", id=OTHER_NUMBER, test_recipients=[ANA])
    await client.control("tokens", value="theirs", accounts=["77"], expires_in_s=60)
    await client.control("recipients", to="5511900000001", on_network=False)
    await client.control("incoming", phone_number_id=NUMBER, type="image", **{"from": ANA})
    await client.control("templates/winter_sale/status", status="APPROVED")
    await client.control("faults", kind="server-error", number="7701", count=3)
    await client.control("apps", id="7", secret="s")
    for _ in range(45):
        answer = await client.send(template(biz_opaque_callback_data="kept"))
    return answer.wamid


async def test_a_snapshot_restores_the_whole_state_in_another_emulator(start: Start, tmp_path: Path) -> None:
    client, other = await start(), await start(seed=5)
    wamid = await furnish(client)
    file = str(tmp_path / "state.json")
    await client.control("snapshot", path=file)
    await other.control("restore", path=file)
    before, after = await client.ask("snapshot"), await other.ask("snapshot")
    for state in (before, after):
        del state["now_ns"], state["unix_s"], state["next_id"]
    assert after == before
    ledger = (await other.ask("ledger"))["messages"]
    assert [message["wamid"] for message in ledger][-1] == wamid
    assert {message["tag"] for message in ledger} == {"kept"}
    assert (await other.send(template())).code == 131056  # the burst is still to be paid for
    assert (await other.send(template("5511900000001"))).code == 131026
    assert (await other.send(template("5511900000002"), number=OTHER_NUMBER)).code == 131030
    other.token = "theirs"
    assert (await other.send(template(), number="7701")).status == 503
    await other.control("clock", seconds=61)
    assert (await other.send(template(), number="7701")).status == 503  # the fault, three times
    assert (await other.send(template(), number="7701")).status == 503
    assert (await other.send(template(), number="7701")).code == 190


def spoilt(good: dict[str, Any]) -> list[dict[str, Any]]:
    """Snapshots that each have one thing wrong."""
    account, ledger = good["accounts"][0], good["ledger"]
    twice = {**account, "templates": [*account["templates"], account["templates"][0]]}
    (segment,) = ledger["segments"]
    return [
        {},
        {"format": 99},
        {**good, "numbers": [{}]},
        {**good, "numbers": []},
        {**good, "accounts": []},
        {**good, "accounts": [twice]},
        {**good, "schedule": [[1]]},
        {**good, "schedule": [[1, 45, 0, 0, False]]},
        {**good, "schedule": [[1, 0, 9, 0, False]]},
        {**good, "now_ns": 1},
        {**good, "ledger": None},
        {**good, "ledger": {**ledger, "kinds": []}},
        {**good, "ledger": {**ledger, "ids": []}},
        {**good, "ledger": {**ledger, "segments": [{**segment, "recipients": ""}]}},
        {**good, "ledger": {**ledger, "segments": [{**segment, "notes": ""}]}},
        {**good, "ledger": {**ledger, "segments": [segment, segment]}},
    ]


async def test_a_snapshot_that_cannot_be_read_changes_nothing(client: Client, tmp_path: Path) -> None:
    await furnish(client)
    good = await client.ask("snapshot")
    for wrong in spoilt(good):
        answer = await client.call("POST", "/_emulator/restore", json=wrong)
        assert (answer.status, answer.code) == (400, 100)
    after = await client.ask("snapshot")
    for state in (good, after):
        del state["now_ns"], state["unix_s"], state["next_id"]
    assert after["errors"].pop() == [100, len(spoilt({**good, "now_ns": 0}))]
    assert after == good
    assert (await client.send(template())).code == 131056  # the burst is still to be paid for
    for path in (str(tmp_path / "none" / "x"), "", 5):
        for command in ("snapshot", "restore"):
            answer = await client.call("POST", f"/_emulator/{command}", json={"path": path})
            assert (answer.status, answer.code) == (400, 100)


async def test_what_is_sent_after_a_restore_gets_ids_of_its_own(client: Client) -> None:
    before = (await client.send(template())).wamid
    state = await client.ask("snapshot")
    wamids = {before}
    for number in range(3):
        wamids.add((await client.send(template(f"551190000000{number}"))).wamid)
        await client.control("restore", **state)
    last = (await client.send(template("5511900000009"))).wamid
    assert len(wamids | {last}) == 5
    assert [row["wamid"] for row in (await client.ask("ledger"))["messages"]] == [before, last]
    ledger = client.emulator.service.ledger
    assert [ledger.index_of(wamid) for wamid in (before, last)] == [0, 1]
    assert sum(ledger.index_of(wamid) is not None for wamid in wamids) == 1
    await client.control("restore", **await client.ask("snapshot"))
    assert [row["wamid"] for row in (await client.ask("ledger"))["messages"]] == [before, last]


async def test_a_snapshot_keeps_counts_and_what_is_left_of_faults_and_budgets(start: Start) -> None:
    client = await start(management_calls_per_hour=1)
    assert (await client.call("GET", f"/{ACCOUNT}/phone_numbers")).status == 200
    await client.send(template(name="no_such"))
    await client.control("faults", kind="server-error", until_s=60)
    await client.control("clock", seconds=50)
    await client.control("restore", **await client.ask("snapshot"))
    assert (await client.send(template())).status == 503
    assert (await client.ask("ledger/summary"))["errors"] == {"132001": 1}
    await client.control("clock", seconds=10)
    assert (await client.send(template())).status == 200
    assert (await client.call("GET", f"/{ACCOUNT}/phone_numbers")).code == 80007
