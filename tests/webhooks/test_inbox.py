"""What else a commit of events stores: the flow of events, opt-outs, other events."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from drumbeat.engine.core.events.records import IncomingMessage, Parsed, Unreadable
from drumbeat.engine.core.tag import Tag, encode
from drumbeat.engine.store import inbox
from drumbeat.engine.store.database import Connection
from drumbeat.engine.store.inbox import EVENT_FLOW_S, EventFlow, write_together
from drumbeat.engine.webhooks import body_group
from drumbeat.engine.webhooks.body_group import BodyGroup, write
from tests.kit.planted import FIRST_RANGE, NUMBER, installation, plant_campaign, status_event
from tests.webhooks.conversation import PRODUCT, change_body, status, statuses_body

LAST_EVENT = "SELECT last_event_at FROM event_flow WHERE phone_number_id = $1"


class PlantedGroup(BodyGroup):
    """A group of one status a body, among them texts that the reader would not let through."""

    def __init__(self, *wamids: str) -> None:
        super().__init__(PRODUCT)
        self.wamids = wamids
        self.parsed.statuses += [status_event(wamid, 2) for wamid in wamids]

    def apart(self) -> Iterator[tuple[bytes, Parsed]]:
        for wamid in self.wamids:
            yield b"the body", Parsed([status_event(wamid, 2)])


def test_the_flow_of_a_number_is_noted_again_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(inbox.time, "monotonic", lambda: now)
    flow = EventFlow()
    assert flow.unreported({"1", "2"}) == {"1", "2"}
    flow.reported({"1"})
    assert flow.unreported({"1", "2"}) == {"2"}
    now += EVENT_FLOW_S
    assert flow.unreported({"1", "2"}) == {"1", "2"}


async def test_every_event_is_kept_and_the_flow_is_noted_once(connection: Connection) -> None:
    flow = EventFlow()
    await write(connection, PlantedGroup("w1"), flow)
    first = await connection.fetchval(LAST_EVENT, NUMBER)
    await write(connection, PlantedGroup("w2", "w3"), flow)
    assert await connection.fetchval(LAST_EVENT, NUMBER) == first
    assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 3


async def test_the_flow_is_of_the_last_event(connection: Connection) -> None:
    """The flow decides whether an attempt in doubt is probably not sent."""
    await write(connection, PlantedGroup("w1"))
    await connection.execute("UPDATE event_flow SET last_event_at = now() - interval '1 day'")
    await write(connection, PlantedGroup("w2"))
    assert await connection.fetchval(f"SELECT ({LAST_EVENT}) > now() - interval '1 hour'", NUMBER)


async def test_a_flow_begins_anew_after_a_gap(connection: Connection) -> None:
    flows = "SELECT flows_since = now() FROM event_flow WHERE phone_number_id = $1"
    for gap_s, anew in ((None, True), (290, False), (310, True)):
        async with connection.transaction():
            await connection.execute(
                "UPDATE event_flow SET flows_since = '-infinity', last_event_at = now() - make_interval(secs => $1)",
                gap_s,
            )
            await write(connection, PlantedGroup(f"after {gap_s}"))
            assert await connection.fetchval(flows, NUMBER) is anew


async def test_a_failed_commit_reports_nothing(connection: Connection) -> None:
    flow = EventFlow()
    await write(connection, PlantedGroup("a NUL \x00 that the store refuses"), flow)
    assert await connection.fetchval("SELECT count(*) FROM unreadable_events") == 1
    assert flow.unreported({NUMBER}) == {NUMBER}


@pytest.mark.parametrize("odd", ["\x00", "\ud800"])
@pytest.mark.parametrize("told", [False, True])
async def test_one_text_that_the_store_refuses_spoils_no_other(
    connection: Connection, told: bool, odd: str
) -> None:
    """Both ways to commit: with the flow in one transaction, and the group alone."""
    flow = EventFlow()
    if told:
        flow.unreported({NUMBER})
        flow.reported({NUMBER})
    await write(connection, PlantedGroup("w1", odd, "w2"), flow)
    assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 2
    assert await connection.fetchval("SELECT count(*) FROM unreadable_events") == 1


@pytest.mark.parametrize("before", [[], [ValueError("a text that the store refuses")]])
async def test_a_database_that_does_not_answer_for_a_moment_makes_no_body_an_odd_one(
    connection: Connection, monkeypatch: pytest.MonkeyPatch, before: list[Exception]
) -> None:
    """Its events would be kept as bytes, answered 200, and never applied."""
    errors: list[Exception] = [*before, TimeoutError()]
    real = body_group.write_together

    async def write_together(*arguments: Any) -> None:
        if errors:
            raise errors.pop(0)
        await real(*arguments)

    monkeypatch.setattr(body_group, "write_together", write_together)
    with pytest.raises(TimeoutError):
        await write(connection, PlantedGroup("w1", "w2"))
    assert await connection.fetchval("SELECT count(*) FROM unreadable_events") == 0


async def test_what_is_refused_in_the_end_was_not_half_stored(connection: Connection) -> None:
    group = BodyGroup(PRODUCT)
    group.add(statuses_body(status("w1")))
    moment = datetime(2026, 7, 1, tzinfo=UTC)
    group.parsed.messages.append(IncomingMessage("m", None, "a NUL \x00", "text", moment, "{}"))
    await write(connection, group)
    assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 1


async def test_different_parts_with_one_problem_are_all_kept_each_once(connection: Connection) -> None:
    parts = [Unreadable(part, "not JSON") for part in (b"a", b"b", b"a")]
    await write_together(connection, Parsed(unreadable=parts[:2]), EventFlow())
    await write_together(connection, Parsed(unreadable=parts[2:]), EventFlow())
    kept = await connection.fetch("SELECT body FROM unreadable_events ORDER BY body")
    assert [row["body"] for row in kept] == [b"a", b"b"]


async def test_the_bodies_of_a_group_can_be_read_apart() -> None:
    group = BodyGroup(PRODUCT)
    bodies = [statuses_body(status("w1"), status("w2")), b"no json", change_body("account_update", {"a": 1})]
    assert [group.add(body) for body in bodies] == [2, 1, 1]
    assert group.events == group.parsed.events == 4
    apart = list(group.apart())
    assert [body for body, _ in apart] == bodies
    assert [row for _, parsed in apart for row in parsed.statuses] == group.parsed.statuses


async def test_a_recipient_who_opts_out_after_acceptance_is_suppressed(connection: Connection) -> None:
    await plant_campaign(connection, recipients=3)
    ours = Tag(await installation(connection), FIRST_RANGE, 2, 1, 1)
    stopped = [{"code": 131050, "title": "User has stopped receiving marketing messages"}]
    undelivered = [{"code": 131026, "title": "Message undeliverable"}]
    statuses = [
        status(
            "w1", "failed", errors=stopped, recipient_id="551188887777", biz_opaque_callback_data=encode(ours)
        ),
        status("w2", "failed", errors=stopped, recipient_id="4915112345678"),
        status("w3", "failed", errors=undelivered, recipient_id="4915112345679"),
        status("w4", "read", errors=stopped, recipient_id="4915112345670"),
    ]
    for _ in range(2):  # repeated events change nothing
        group = BodyGroup(PRODUCT)
        group.add(statuses_body(*statuses))
        await write(connection, group)
    planted = await connection.fetchval(
        "SELECT phone FROM recipients WHERE range_id = $1 AND seq = 2", FIRST_RANGE
    )
    suppressed = await connection.fetch("SELECT phone, reason FROM suppressions")
    assert {row["phone"] for row in suppressed} == {planted, 551188887777, 5511988887777, 4915112345678}
    assert {row["reason"] for row in suppressed} == {"opted out (131050)"}


async def test_an_opt_out_with_a_tag_of_another_installation_suppresses_no_recipient_of_ours(
    connection: Connection,
) -> None:
    await plant_campaign(connection, recipients=3)
    theirs = Tag("zzzzzzzz", FIRST_RANGE, 2, 1, 1)
    stopped = [{"code": 131050, "title": "User has stopped receiving marketing messages"}]
    told = status("w1", "failed", errors=stopped, recipient_id="?", biz_opaque_callback_data=encode(theirs))
    group = BodyGroup(PRODUCT)
    group.add(statuses_body(told))
    await write(connection, group)
    assert await connection.fetchval("SELECT count(*) FROM suppressions") == 0
    assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 1


@pytest.mark.parametrize("others", ["messages", "statuses"])
async def test_other_events_beside_statuses_are_kept(connection: Connection, others: str) -> None:
    """A group of statuses alone takes a shorter path: nothing else may be in it."""
    flow = EventFlow()
    flow.unreported({NUMBER})
    flow.reported({NUMBER})
    value = {"metadata": {"phone_number_id": NUMBER}, "statuses": [status("w1")]}
    if others == "messages":
        value["messages"] = [{"id": "wamid.in", "from": "5511912345678", "type": "text"}]
    else:
        stopped = [{"code": 131050, "title": "User has stopped receiving marketing messages"}]
        value["statuses"] = [status("w1", "failed", errors=stopped)]
    group = BodyGroup(PRODUCT)
    group.add(change_body("messages", value))
    await write(connection, group, flow)
    kept = "incoming_messages" if others == "messages" else "suppressions"
    assert await connection.fetchval(f"SELECT count(*) FROM {kept}") == 1
    assert await connection.fetchval("SELECT count(*) FROM waiting_events") == 1
