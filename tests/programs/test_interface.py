"""Everything that the services have is a method, and it answers with a record or a typed error."""

from __future__ import annotations

import asyncio
import csv
import inspect
import logging
from contextlib import suppress
from dataclasses import FrozenInstanceError
from pathlib import Path
from typing import Any, get_type_hints

import asyncpg
import pytest

from drumbeat.api import (
    CampaignChanges,
    ConfigurationError,
    Drumbeat,
    DrumbeatError,
    EventKind,
    IllegalTransition,
    ManifestChanges,
    NewCampaign,
    NotFound,
    RecipientState,
    SettingsOptions,
    Unreachable,
    UsageError,
    open_drumbeat,
)
from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.settings import Settings
from drumbeat.testing import NUMBER, DrumbeatHome, ServiceClock
from tests.kit.waiting import until

PEOPLE = [{"phone": f"+1415555010{n}", "first_name": f"Ada {n}", "order": n} for n in range(5)]


class RecordsFrame:
    """A frame as pandas has it, with a missing value that is not equal to itself."""

    def to_dict(self, orient: str) -> list[dict[Any, Any]]:
        assert orient == "records"
        return [*PEOPLE, {"phone": float("nan"), "first_name": "Bob", "order": 9.0}]


class NamedRowsFrame:
    """A frame as polars has it."""

    def iter_rows(self, *, named: bool) -> Any:
        assert named
        return iter(PEOPLE)


def options(**changes: Any) -> dict[str, Any]:
    usual = {"template": "order_shipped", "language": "en_US", "number": NUMBER, "audience": PEOPLE}
    return {"name": "spring", "param": ["first_name", "order"], **usual, **changes}


async def test_a_fresh_home_is_set_up_and_a_campaign_lives_to_its_end(
    drumbeat_home: DrumbeatHome, tmp_path: Path
) -> None:
    async with open_drumbeat() as drumbeat:
        synced = await drumbeat.sync()
        assert [number.phone_number_id for number in synced.numbers] == [NUMBER]
        assert "order_shipped" in {template.name for template in await drumbeat.templates()}
        checked = await drumbeat.check(**options())
        assert (checked.dry_run, checked.counts.recipients) == (True, 5)
        assert await drumbeat.campaigns() == []
        await drumbeat.suppress("+14155550104", reason="asked")
        assert [entry.phone async for entry in drumbeat.suppressions()] == [14155550104]
        assert not (await drumbeat.create(**options())).unchanged
        assert (await drumbeat.create(**options())).unchanged
        assert (await drumbeat.preview("spring", row=3)).phone == "14155550103"
        assert (await drumbeat.plan("spring")).recipients == 4
        (test,) = await drumbeat.test_send("spring", "+14155550199")
        assert (test.name, test.problem) == ("spring/test-1", None)
        for act in (drumbeat.start, drumbeat.pause, drumbeat.resume):
            assert (await act("spring")).name == "spring"
        (await drumbeat.run("spring")).require_complete()
        seen = [status async for status in drumbeat.watch("spring", period_s=0.02, timeout_s=1)]
        assert seen[-1].recipients == 5
        assert (await drumbeat.report("spring")).counts_add_up
        found = {recipient.row: recipient async for recipient in drumbeat.recipients("spring")}
        assert (found[4].state, found[0].values["order"]) == (RecipientState.SKIPPED, "0")
        assert (await drumbeat.recipient("spring", "+14155550101")).line == 1
        with pytest.raises(NotFound, match="no recipient"):
            await drumbeat.recipient("spring", "+14155550177")
        assert await drumbeat.export("spring", tmp_path / "all.csv") == 5
        with (tmp_path / "all.csv").open(encoding="utf-8-sig") as file:
            assert len(list(csv.DictReader(file))) == 5
        assert (await drumbeat.unsuppress("+14155550104")).changed == 1
    assert {message.phone for message in drumbeat_home.emulator.messages} == {
        *(f"1415555010{n}" for n in range(4)), "14155550199"
    }  # fmt: skip


async def test_failed_ones_are_retried_and_nobody_is_in_doubt(drumbeat_home: DrumbeatHome) -> None:
    drumbeat_home.emulator.fault("refusal", probability=1, count=1, code=131026)
    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        await drumbeat.create(**options())
        result = await drumbeat.run("spring")
        assert (await drumbeat.settle("spring")).left.recipients == 0
        (failed,) = [each async for each in drumbeat.recipients("spring", state=RecipientState.FAILED)]
        assert (failed.code, result.status.counts[RecipientState.FAILED]) == (131026, 1)
        assert (await drumbeat.retry("spring", all_codes=True)).name == "spring/retry-1"
        await drumbeat.run("spring/retry-1")
    reached = [message.phone for message in drumbeat_home.emulator.messages]
    assert len(reached) == len(set(reached)) == 5
    async with open_drumbeat() as drumbeat:
        with pytest.raises(UsageError, match="contradict"):
            await drumbeat.retry("spring", codes=[1], all_codes=True)


async def test_a_clone_and_an_edit_take_rows(drumbeat_home: DrumbeatHome) -> None:
    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        await drumbeat.create(**options())
        assert (await drumbeat.clone("spring", "summer", audience=PEOPLE[:2])).counts.recipients == 2
        assert (await drumbeat.edit("summer", audience=iter(PEOPLE[:3]))).counts.recipients == 3
        assert (await drumbeat.clone("summer", "autumn")).counts.recipients == 3
        for action, lost_s in (("lost-time", None), ("resend", 5), ("lost-time", 0)):
            with pytest.raises(UsageError, match="lost_s"):
                await drumbeat.settle("spring", action, lost_s=lost_s)  # type: ignore[arg-type]
        await drumbeat.start("spring")
        await drumbeat.pause("spring")
        assert (await drumbeat.settle("spring", "lost-time", lost_s=60)).action == "lost-time"


async def test_one_message_and_a_person_who_says_stop(
    drumbeat_home: DrumbeatHome, drumbeat_clock: ServiceClock
) -> None:
    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        new = await drumbeat.subscribe("crm")
        words = {"template": "order_shipped", "language": "en_US", "params": ["Ada", "7"], "name": "hello"}
        sent = await drumbeat.send("+14155550101", number=NUMBER, **words)
        again = await drumbeat.send("+14155550101", number=NUMBER, **words)
        assert (sent.problem, sent.wamid) == (None, again.wamid)
        drumbeat_clock.advance(60)
        drumbeat_home.emulator.reply("14155550101", "STOP", number=NUMBER)

        async def is_on_the_list() -> bool:
            return [entry.phone async for entry in drumbeat.suppressions()] == [14155550101]

        await until(is_on_the_list)
        assert (await drumbeat.person("+14155550101")).suppressed_because
        page = await drumbeat.events(new.after, kinds=[EventKind.OPTED_OUT])
        assert [(event.kind, event.phone) for event in page.events] == [("opted_out", "+14155550101")]
        assert [each.name for each in await drumbeat.subscriptions()] == ["crm"]
        assert (await drumbeat.subscription("crm")).url is None
        await drumbeat.unsubscribe("crm")
        with pytest.raises(NotFound):
            await drumbeat.events()


@pytest.mark.parametrize(
    ("audience", "rejected"),
    [
        (PEOPLE, []),
        (iter(PEOPLE), []),
        ([("phone", "first_name", "order"), ("x", "A", 1), *(tuple(row.values()) for row in PEOPLE)], [0]),
        (NamedRowsFrame(), []),
        (RecordsFrame(), [5]),
        ([*PEOPLE, PEOPLE[0]], [5]),
    ],
)
async def test_rows_are_planned_as_a_file_is_and_named_by_their_index(
    drumbeat_home: DrumbeatHome, audience: Any, rejected: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(drumbeat_home.directory)
    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        created = await drumbeat.create(**options(audience=audience))
        assert created.counts.recipients == 5
        assert [reject.line for reject in created.audience.rejected_rows] == rejected
        assert created.audience.rejects_path is None
        assert not list(drumbeat_home.directory.glob("*.csv"))
        await drumbeat.clone("spring", "summer", external_id="crm-7")
        assert (await drumbeat.status("external:crm-7")).recipients == 5


async def test_a_mistake_is_an_error_with_code_and_remedy(drumbeat_home: DrumbeatHome) -> None:
    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        for wrong, code, remedy in (
            ({"windw": "09:00-20:00"}, "wrong_input", "did you mean window?"),
            ({"audience": 7}, "wrong_input", "data frame"),
            ({"canary": "many"}, "wrong_input", ""),
            ({"audience": [{"phone": "1"}, "x"]}, "wrong_configuration", "mappings"),
            ({"audience": [{"phone": "1"}, {"phne": "x"}]}, "wrong_configuration", "first row"),
        ):
            with pytest.raises(DrumbeatError) as raised:
                await drumbeat.create(**options(**wrong))
            assert raised.value.code == code
            assert remedy in raised.value.remedy, wrong
        with pytest.raises(UsageError, match="the option language is missing"):
            await drumbeat.check(name="x", number=NUMBER)  # type: ignore[call-arg]
        with pytest.raises(ConfigurationError, match='no campaign "autumn"'):
            await drumbeat.cancel("autumn")
        created = await drumbeat.create(**options())
        with pytest.raises(FrozenInstanceError):
            created.counts = None  # type: ignore[misc, assignment]
        await drumbeat.cancel("spring")
        with pytest.raises(IllegalTransition):
            await drumbeat.pause("spring")
    with pytest.raises(UsageError, match="no option bas_url"):
        async with open_drumbeat(bas_url="x"):  # type: ignore[call-arg]
            pass


async def test_events_go_to_the_application_masked_and_nothing_is_printed(
    drumbeat_home: DrumbeatHome, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    log = get_logger("drumbeat.anything")
    secret = drumbeat_home.settings["access_token"]
    caplog.set_level(logging.INFO, logger="drumbeat")
    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        await drumbeat.create(**options())
        await drumbeat.run("spring")
        log.warning("phone_seen", phone=14155550101, detail=f"{secret} of +14155550101")
        try:
            int("+1415555x101 14155550101")
        except ValueError:
            log.exception("row_failed")
    assert capfd.readouterr() == ("", "")
    assert {record.name for record in caplog.records} > {"drumbeat.anything"}
    assert "14155550101" not in caplog.text and secret not in caplog.text
    seen = next(record for record in caplog.records if "phone_seen" in record.getMessage())
    assert seen.__dict__["drumbeat"] == {
        "event": "phone_seen",
        "phone": "***0101",
        "detail": "*** of ***0101",
    }
    assert "ValueError" in caplog.text


def test_the_typed_options_are_those_of_the_table() -> None:
    assert get_type_hints(NewCampaign).keys() == OPTIONS.keys()
    assert get_type_hints(ManifestChanges).keys() == OPTIONS.keys()
    assert get_type_hints(CampaignChanges).keys() == OPTIONS.keys() - {"name"}
    assert NewCampaign.__required_keys__ == {key for key, option in OPTIONS.items() if option.is_required}
    assert get_type_hints(SettingsOptions).keys() <= Settings.model_fields.keys()


def test_no_method_is_without_its_line_of_help() -> None:
    methods = inspect.getmembers(Drumbeat, inspect.isfunction)
    assert all(method.__doc__ for name, method in methods if not name.startswith("_"))


async def test_a_database_that_goes_away_under_a_call_is_named_and_the_client_goes_on(
    drumbeat_home: DrumbeatHome,
) -> None:
    url = str(drumbeat_home.settings["database_url"])
    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        await drumbeat.create(**options())
        waiting = asyncio.create_task(drumbeat.run("spring", until=None, stop=asyncio.Event()))
        await until(lambda: drumbeat_home.emulator.messages)
        for _ in range(3):
            await cut_connections(url)
            with suppress(Unreachable):
                assert (await drumbeat.status("spring")).recipients == 5
        (await waiting).require_complete()
        assert (await drumbeat.status("spring")).state == "finished"
    assert len({message.phone for message in drumbeat_home.emulator.messages}) == 5


async def cut_connections(url: str) -> None:
    connection = await asyncpg.connect(url)
    try:
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        await connection.close()
