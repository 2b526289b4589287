"""Incoming messages that opt out: the list, its source and the audit, in one transaction with the message."""

from datetime import datetime, timedelta
from typing import Any

import orjson
import pytest

from drumbeat.campaigns.phones.opt_out_words import add_words, list_words, remove_words
from drumbeat.campaigns.phones.suppression import add_suppressions, remove_suppressions
from drumbeat.engine.core.events.records import IncomingMessage, Parsed
from drumbeat.engine.core.limits.opt_out import normalised
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.inbox import EventFlow, write_together
from drumbeat.engine.store.recording import record
from tests.kit.planted import FIRST_RANGE, NOON, NUMBER, plant_campaign

ANA, ANA_TOO = 5511987654321, 551187654321


async def receive(
    connection: Connection,
    body: dict[str, Any],
    wamid: str = "in.1",
    sender: int = ANA,
    sent_at: datetime = NOON,
) -> None:
    message = IncomingMessage(wamid, NUMBER, str(sender), "text", sent_at, orjson.dumps(body).decode())
    await write_together(connection, Parsed(messages=[message]), EventFlow())


async def write(connection: Connection, word: str, second: int) -> None:
    """Ana writes a word, so many seconds after noon by the service's clock."""
    at = NOON + timedelta(seconds=second)
    await receive(connection, {"text": {"body": word}}, wamid=f"in.{word}.{second}", sent_at=at)


async def listed(connection: Connection) -> dict[int, tuple[str, str]]:
    rows = await connection.fetch("SELECT phone, reason, source FROM suppressions")
    return {row["phone"]: (row["reason"], row["source"]) for row in rows}


async def audited(connection: Connection) -> list[tuple[str, str, dict[str, Any]]]:
    rows = await connection.fetch("SELECT actor, action, detail FROM audit ORDER BY audit_id")
    return [tuple(row) for row in rows]


async def test_a_word_suppresses_both_spellings_of_the_sender_and_is_audited(connection: Connection) -> None:
    await receive(connection, {"text": {"body": "Não quero mais!"}})
    entry = ('opted out (wrote "Não quero mais!")', "word")
    assert await listed(connection) == {ANA: entry, ANA_TOO: entry}
    detail = {"source": "word", "word": "Não quero mais!", "wamid": "in.1", "number": NUMBER}
    assert await audited(connection) == [("recipient", "opt-out", detail)]


async def test_a_button_by_its_payload(connection: Connection) -> None:
    await receive(connection, {"type": "button", "button": {"payload": "STOP", "text": "Not now"}})
    assert (await listed(connection))[ANA] == ('opted out (pressed "STOP")', "button")


async def test_other_messages_are_kept_and_suppress_nobody(connection: Connection) -> None:
    await receive(connection, {"text": {"body": "When does it stop raining?"}})
    assert not await listed(connection) and not await audited(connection)
    assert await connection.fetchval("SELECT count(*) FROM incoming_messages") == 1


async def test_a_repeated_event_does_not_suppress_again(connection: Connection) -> None:
    await receive(connection, {"text": {"body": "stop"}})
    await remove_suppressions(connection, [f"+{ANA}"])
    await receive(connection, {"text": {"body": "stop"}})
    assert not await listed(connection)
    await receive(connection, {"text": {"body": "stop"}}, wamid="in.2")
    assert ANA in await listed(connection)


async def test_the_words_are_a_table_that_people_edit(connection: Connection) -> None:
    assert await add_words(connection, ["Genug jetzt", "GENUG  JETZT!", "Stop."], "de") == 1
    await receive(connection, {"text": {"body": "genug, jetzt"}})
    assert (await listed(connection))[ANA][1] == "word"
    assert await remove_words(connection, ["genug jetzt", "STOP", "never there"]) == 2
    await receive(connection, {"text": {"body": "stop"}}, wamid="in.2", sender=4930901820)
    assert 4930901820 not in await listed(connection)
    with pytest.raises(UsageError):
        await add_words(connection, ["!!"], "de")


async def test_a_word_takes_back_what_a_word_did(connection: Connection) -> None:
    await write(connection, "stop", 0)
    await write(connection, "Start!", 1)
    assert not await listed(connection)
    detail = {"source": "word", "word": "Start!", "wamid": "in.Start!.1", "number": NUMBER}
    assert (await audited(connection))[1:] == [("recipient", "opt-in", detail)]
    await write(connection, "start", 2)
    assert len(await audited(connection)) == 2  # nothing was left to take back


@pytest.mark.parametrize("before", [0, 2])
async def test_no_word_takes_back_what_a_person_did(connection: Connection, before: int) -> None:
    """Whether the person or the word was first."""
    await write(connection, "stop", before)
    assert (await add_suppressions(connection, [f"+{ANA}"], "asked by phone")).unchanged == 1
    await write(connection, "stop", before + 1)
    await write(connection, "start", 9)
    assert (await listed(connection))[ANA] == ("asked by phone", "hand")


@pytest.mark.parametrize(("second", "is_listed"), [(4, False), (5, True), (6, True)])
async def test_a_message_that_comes_late_takes_back_no_later_word(
    connection: Connection, second: int, is_listed: bool
) -> None:
    await write(connection, "stop", 0)
    await write(connection, "stop", second)
    await write(connection, "start", 5)
    assert (ANA in await listed(connection)) is is_listed


async def test_a_word_has_one_meaning(connection: Connection) -> None:
    assert await add_words(connection, ["ja bitte"], "de", opts_in=True) == 1
    with pytest.raises(UsageError, match="opt in"):
        await add_words(connection, ["genug", "Ja, bitte"], "de")
    with pytest.raises(UsageError, match="opt out"):
        await add_words(connection, ["stop"], "de", opts_in=True)
    assert "genug" not in {each.word for each in await list_words(connection)}


async def test_every_word_of_the_table_can_be_written(connection: Connection) -> None:
    words = await list_words(connection)
    assert len({each.language for each in words}) > 30
    assert all(normalised(each.word) for each in words)


async def test_the_service_and_people_are_audited_with_their_source(connection: Connection) -> None:
    campaign = await plant_campaign(connection, number=NUMBER)
    refused = Fact(
        campaign, FIRST_RANGE, 1, 1, 1, NUMBER, FactKind.FAILED, code=131050, reason="131050", suppress=True
    )
    await record(connection, [refused])
    await add_suppressions(connection, ["+4930901820"], "asked by phone")
    await remove_suppressions(connection, ["+4930901820"])
    entries = await audited(connection)
    assert [(action, detail["source"]) for _, action, detail in entries] == [
        ("opt-out", "service"), ("suppress", "hand"), ("unsuppress", "hand"),
    ]  # fmt: skip
    assert {source for _, source in (await listed(connection)).values()} == {"service"}
