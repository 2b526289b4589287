"""The ledger keeps every accepted message, in order, and answers for it."""

import orjson

from drumbeat.emulator.ledger.kinds import MessageKind
from drumbeat.emulator.ledger.ledger import Ledger
from drumbeat.emulator.ledger.segments import SEGMENT_MESSAGES
from tests.emulator.conftest import ANA, NUMBER, OTHER_NUMBER, Client, free_form, template


async def test_it_holds_what_was_accepted_and_nothing_else(client: Client) -> None:
    first = await client.send(template(ANA, "Ana", "LH-7", biz_opaque_callback_data="i1.r1.7.1.1"))
    await client.send(template("551", "refused"))
    await client.control("incoming", phone_number_id=OTHER_NUMBER, **{"from": ANA})
    second = await client.send(free_form("text", {"body": "Olá"}), number=OTHER_NUMBER)
    ledger = await client.ask("ledger")
    assert ledger["next"] is None
    one, two = ledger["messages"]
    assert one.pop("received_at_ns") < two.pop("received_at_ns")
    assert one == {
        "index": 0,
        "wamid": first.wamid,
        "phone_number_id": NUMBER,
        "to": ANA,
        "type": "template",
        "template": "order_shipped",
        "language": "en_US",
        "tag": "i1.r1.7.1.1",
        "parameters": ["Ana", "LH-7"],
    }
    assert two == {
        "index": 1,
        "wamid": second.wamid,
        "phone_number_id": OTHER_NUMBER,
        "to": ANA,
        "type": "text",
        "template": None,
        "language": None,
        "tag": None,
        "content": {"body": "Olá"},
    }


async def test_it_is_read_in_pages_and_as_a_stream(client: Client) -> None:
    for number in range(7):
        await client.send(template(f"55119876543{number:02d}"))
    seen, after = [], 0
    while after is not None:
        page = await client.ask(f"ledger?after={after}&limit=3")
        seen += page["messages"]
        after = page["next"]
    assert [message["index"] for message in seen] == list(range(7))
    stream = await client.call("GET", "/_emulator/ledger?format=ndjson")
    assert [orjson.loads(line) for line in stream.body.splitlines()] == seen


async def test_the_summary_counts_by_number(client: Client) -> None:
    for number in range(3):
        await client.send(template(f"55119876543{number:02d}"))
    await client.send(template(name="no_such"))
    summary = await client.ask("ledger/summary")
    mine = summary["numbers"][NUMBER]
    assert summary["accepted"] == mine["accepted"] == 3
    assert mine["errors"] == {"132001": 1}
    assert 1 <= mine["largest_window"] <= 3
    assert summary["numbers"][OTHER_NUMBER]["accepted"] == 0


async def test_a_reset_empties_it_and_never_issues_an_id_again(client: Client) -> None:
    before = await client.send(template())
    await client.control("reset")
    assert (await client.ask("ledger"))["messages"] == []
    after = await client.send(template())
    assert after.wamid != before.wamid


async def test_a_full_ledger_refuses_instead_of_forgetting(client: Client) -> None:
    service = client.emulator.service
    service.ledger.messages.full = True
    assert (await client.send(template())).code == 131016
    assert len(service.ledger) == 0


def test_it_is_full_before_it_grows_past_its_limit() -> None:
    ledger = Ledger(limit_messages=2 * SEGMENT_MESSAGES)
    kind = ledger.kinds.index_of(MessageKind("n", "text"))
    while not ledger.messages.full:
        ledger.messages.append(kind, 1, 1, b"")
    assert SEGMENT_MESSAGES < len(ledger) <= 2 * SEGMENT_MESSAGES + 1


def test_a_full_ledger_is_full_after_a_restore() -> None:
    ledger, restored = (Ledger(limit_messages=2 * SEGMENT_MESSAGES) for _ in range(2))
    kind = ledger.kinds.index_of(MessageKind("n", "text"))
    while not ledger.messages.full:
        ledger.messages.append(kind, 1, 1, b"")
    restored.load(ledger.dump())
    assert restored.messages.full


def test_ids_lead_back_to_their_messages_across_segments() -> None:
    ledger = Ledger()
    kind = ledger.kinds.index_of(MessageKind("n", "text"))
    for index in range(SEGMENT_MESSAGES + 2):
        ledger.messages.append(kind, 551100000000 + index, 1000 + index, b'["tag%d",null]' % index)
    for index in (0, 1, SEGMENT_MESSAGES - 1, SEGMENT_MESSAGES, SEGMENT_MESSAGES + 1):
        assert ledger.index_of(ledger.wamid(index)) == index
        assert ledger.tag(index) == f"tag{index}"
        assert ledger.row(index)["to"] == str(551100000000 + index)
    for unknown in ("", "wamid.x", ledger.wamid(0)[:-1], ledger.wamid(SEGMENT_MESSAGES + 2), "é"):
        assert ledger.index_of(unknown) is None
    assert Ledger().index_of(ledger.wamid(0)) is None
