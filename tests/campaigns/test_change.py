"""A planned campaign is changed, planned anew, or left as it was; a draft is deleted with all that it had."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from drumbeat.campaigns.changing import delete
from drumbeat.campaigns.changing.amend import amend_campaign
from drumbeat.campaigns.changing.delete import delete_campaign
from drumbeat.campaigns.life import control
from drumbeat.campaigns.life.control import cancel, pause, start
from drumbeat.campaigns.options.identity import Difference
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.stored import stored_options
from drumbeat.campaigns.options.values import of_clone, of_edit
from drumbeat.campaigns.planning import change, change_options
from drumbeat.campaigns.planning.change import ChangeRefused
from drumbeat.campaigns.planning.change_rules import Effect
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.planning.created import CreatedCampaign
from drumbeat.campaigns.results.report import campaign_report
from drumbeat.engine.errors import ConfigurationError, TryLater, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import Killed, create_and_be_killed, everything, recipients

SOON = (datetime.now(UTC) + timedelta(days=1)).isoformat()
LATER = (datetime.now(UTC) + timedelta(days=3)).isoformat()


@pytest.fixture
def asked(write_audience: WriteAudience) -> CampaignSpec:
    """A campaign of ten people, from options as the command line gives them."""
    rows = [f"{PHONE + row},Name {row},A{row}" for row in range(10)]
    audience = write_audience("phone,name,order\n" + "\n".join(rows) + "\n")
    return CampaignSpec(
        name="spring",
        template="order",
        language="en",
        number=["1001", "1002"],
        audience=audience,
        param=["name", "order"],
    )


async def changed(url: str, spec: CampaignSpec) -> CreatedCampaign:
    return await create_campaign(url, spec, change_by="ana@ops")


async def stored(pool: Pool) -> Mapping[str, Any]:
    row = await pool.fetchrow("SELECT * FROM campaigns")
    assert row is not None
    return row


async def state(pool: Pool, name: str) -> None:
    await pool.execute("UPDATE campaigns SET state = $1", name)


async def test_what_may_change_while_it_runs_is_changed_and_then_nothing_more(
    ready: str, pool: Pool, asked: CampaignSpec
) -> None:
    await create_campaign(ready, asked)
    await state(pool, "running")
    before = await everything(pool)
    wanted = replace(
        asked,
        expires_at=LATER,
        window="09:00-20:00",
        max_failed="5%",
        priority="high",
        share=30,
        pause_at_failed="7%",
    )

    first = await changed(ready, wanted)
    assert {found.difference.option: found.effect for found in first.changes} == {
        "expires_at": Effect.APPLIED,
        "pause_at_failed": Effect.APPLIED,
        "priority": Effect.APPLIED,
        "share": Effect.APPLIED,
        "max_failed": Effect.APPLIED,
        "window": Effect.APPLIED,
    }
    row = await stored(pool)
    assert (row["priority"], row["share_percent"], row["pause_at_failed"]) == ("high", 30, "7%")
    assert (row["max_failed"], f"{row['window_closes']:%H:%M}") == ("5%", "20:00")
    assert row["expires_at"].isoformat() == LATER
    assert await everything(pool) == before
    assert (await changed(ready, wanted)).unchanged
    assert (await create_campaign(ready, wanted)).unchanged
    report = await campaign_report(pool, first.campaign_id)
    (audit,) = report.audits
    assert (audit.actor, audit.action, audit.detail["max_failed"]) == ("ana@ops", "edit", [None, "5%"])


async def test_a_difference_that_may_not_be_is_refused_with_all_others(
    ready: str, pool: Pool, asked: CampaignSpec
) -> None:
    await create_campaign(ready, asked)
    await state(pool, "running")
    row = await stored(pool)
    with pytest.raises(ChangeRefused, match=r"param was name, order.*only in a draft.*running") as refused:
        await changed(ready, replace(asked, param=["=a", "order"], max_failed="5"))
    assert [found.effect for found in refused.value.changes] == [Effect.APPLIED, Effect.REFUSED]
    assert refused.value.exit_code == 78
    assert await stored(pool) == row


async def test_a_draft_is_planned_anew(
    ready: str, pool: Pool, asked: CampaignSpec, write_audience: WriteAudience
) -> None:
    first = await create_campaign(ready, asked)
    write_audience(f"phone,name,order\n{PHONE + 77},New,N\n")

    second = await changed(ready, replace(asked, param=["=Hi", "order"]))
    assert {found.effect for found in second.changes} == {Effect.PLANNED_ANEW}
    assert second.campaign_id != first.campaign_id
    assert [row["phone"] for row in await recipients(pool)] == [PHONE + 77]
    assert await everything(pool) == {"campaigns": 1, "ranges": 1, "recipients": 1, "range_counters": 1}
    assert await pool.fetchval("SELECT action FROM audit") == "replan"


@pytest.mark.parametrize("wrong", [{"template": "nowhere"}, {"param": ["name"]}, {"number": ["9"]}])
async def test_a_draft_stays_if_the_new_plan_is_wrong(
    ready: str, pool: Pool, asked: CampaignSpec, wrong: dict[str, Any]
) -> None:
    await create_campaign(ready, asked)
    before = await stored(pool)
    with pytest.raises((ConfigurationError, UsageError)):
        await changed(ready, replace(asked, language="pt_BR", **wrong))
    assert await stored(pool) == before


async def test_a_draft_that_starts_meanwhile_is_not_planned_anew(
    ready: str, pool: Pool, asked: CampaignSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is checked as a draft; a worker or a run starts it before its recipients would be removed."""
    await create_campaign(ready, asked)
    real = change.remove_planned

    async def start_first(*arguments: Any, **named: Any) -> None:
        await state(pool, "running")
        await real(*arguments, **named)

    monkeypatch.setattr(change, "remove_planned", start_first)
    with pytest.raises(TryLater, match="started meanwhile"):
        await changed(ready, replace(asked, language="pt_BR"))
    assert len(await recipients(pool)) == 10


async def test_a_campaign_that_starts_meanwhile_keeps_its_options(
    ready: str, pool: Pool, asked: CampaignSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a draft may change, a running campaign may not."""
    await create_campaign(ready, asked)
    real = change_options.change_row

    async def start_first(*arguments: Any, **named: Any) -> None:
        await state(pool, "running")
        await real(*arguments, **named)

    monkeypatch.setattr(change_options, "change_row", start_first)
    with pytest.raises(TryLater, match="changed meanwhile"):
        await changed(ready, replace(asked, number=["1001"]))
    assert (await stored(pool))["phone_number_ids"] == ["1001", "1002"]


async def test_a_dry_run_shows_the_changes_and_makes_none(
    ready: str, pool: Pool, asked: CampaignSpec
) -> None:
    await create_campaign(ready, asked)
    before = await stored(pool)
    for wanted in (replace(asked, max_failed="5"), replace(asked, language="pt_BR")):
        shown = await create_campaign(ready, wanted, change_by="ana@ops", dry_run=True)
        assert (shown.dry_run, len(shown.changes)) == (True, 1)
    assert await stored(pool) == before


async def test_an_edit_needs_no_audience(ready: str, pool: Pool, asked: CampaignSpec) -> None:
    await create_campaign(ready, asked)
    assert asked.audience_file is not None
    asked.audience_file.unlink()
    async with pool.acquire() as connection:
        values = (await stored_options(connection, "spring")).values
    edited = CampaignSpec(**of_edit(values, {"window": "09:00-20:00", "number": ["1001"]}, ()))
    found = await amend_campaign(ready, edited, change_by="ana@ops")
    assert found is not None
    assert [each.difference for each in found.changes] == [
        Difference("number", ["1001", "1002"], ["1001"]),
        Difference("window", None, "09:00-20:00"),
    ]
    assert (await stored(pool))["phone_number_ids"] == ["1001"]
    async with pool.acquire() as connection:
        values = (await stored_options(connection, "spring")).values
    undone = CampaignSpec(**of_edit(values, {}, ("window",)))
    await amend_campaign(ready, undone, change_by="ana@ops")
    assert (await stored(pool))["window_opens"] is None
    anew = CampaignSpec(**of_edit(values, {"language": "pt_BR"}, ()))
    assert await amend_campaign(ready, anew, change_by="ana@ops") is None
    with pytest.raises(UsageError, match="there is no option colour"):
        of_edit(values, {}, ("--colour",))


async def test_a_clone_has_the_options_of_the_other_but_no_key_of_its_own(
    ready: str, pool: Pool, asked: CampaignSpec
) -> None:
    first = CampaignSpec(
        name="spring",
        template="order",
        language="en",
        number=["1001"],
        audience=asked.audience_file,
        param=["name", "order"],
        external_id="crm-7",
        window="09:00-20:00",
    )
    await create_campaign(ready, first)
    async with pool.acquire() as connection:
        values = (await stored_options(connection, "external:crm-7")).values
    clone = CampaignSpec(**of_clone(values, "summer", {"template": "order"}, ("window",)))
    created = await create_campaign(ready, clone)
    assert (created.name, created.counts.recipients) == ("summer", 10)
    assert (clone.external_id, clone.window, clone.param) == (None, None, ["name", "order"])


async def test_a_campaign_that_was_not_made_from_options_has_no_clone(
    ready: str, pool: Pool, spec: CampaignSpec
) -> None:
    await create_campaign(ready, replace(spec, audience=None, read_from=spec.source))
    async with pool.acquire() as connection:
        with pytest.raises(ConfigurationError, match='options of the campaign "spring" do not say where'):
            await stored_options(connection, "spring")


async def test_a_deleted_draft_leaves_its_audit_and_nothing_else(
    ready: str, pool: Pool, asked: CampaignSpec
) -> None:
    await create_campaign(ready, replace(asked, external_id="crm-7"))
    gone = await delete_campaign(ready, "external:crm-7", actor="ana@ops")
    assert (gone.name, gone.recipients) == ("spring", 10)
    assert set((await everything(pool)).values()) == {0}
    row = await pool.fetchrow("SELECT actor, action, detail FROM audit")
    assert row is not None
    assert (row["actor"], row["action"]) == ("ana@ops", "delete")
    assert row["detail"]["options"]["template"] == "order"
    with pytest.raises(ConfigurationError, match='no campaign "spring"'):
        await delete_campaign(ready, "spring", actor="ana@ops")


@pytest.mark.parametrize("name", ["running", "paused", "finished", "cancelled", "expired"])
async def test_what_was_started_is_not_deleted(
    ready: str, pool: Pool, asked: CampaignSpec, name: str
) -> None:
    await create_campaign(ready, asked)
    await pool.execute("UPDATE campaigns SET started_at = now()")
    await state(pool, name)
    with pytest.raises(UsageError, match=f"{name} campaign that was started cannot be deleted"):
        await delete_campaign(ready, "spring", actor="ana@ops")
    assert len(await recipients(pool)) == 10


@pytest.mark.parametrize(
    ("steps", "reached"), [((), "scheduled"), ((pause,), "paused"), ((cancel,), "cancelled")]
)
async def test_what_was_scheduled_and_never_sent_is_deleted(
    ready: str, pool: Pool, asked: CampaignSpec, steps: Sequence[Any], reached: str
) -> None:
    await create_campaign(ready, replace(asked, start_at=SOON))
    async with pool.acquire() as connection:
        for step in (start, *steps):
            await step(connection, "spring")
    assert await pool.fetchval("SELECT state FROM campaigns") == reached
    await delete_campaign(ready, "spring", actor="ana@ops")
    assert set((await everything(pool)).values()) == {0}


async def test_a_campaign_that_starts_while_it_is_deleted_stays(
    ready: str, pool: Pool, asked: CampaignSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    await create_campaign(ready, asked)
    real = delete.remove_planned

    async def start_first(*arguments: Any, **named: Any) -> None:
        async with pool.acquire() as connection:
            await start(connection, "spring")
            await pause(connection, "spring")
        await real(*arguments, **named)

    monkeypatch.setattr(delete, "remove_planned", start_first)
    with pytest.raises(TryLater, match="started meanwhile"):
        await delete_campaign(ready, "spring", actor="ana@ops")
    assert len(await recipients(pool)) == 10


async def test_what_an_interrupted_create_left_is_deleted(
    ready: str, pool: Pool, asked: CampaignSpec
) -> None:
    await create_and_be_killed(ready, asked)
    await delete_campaign(ready, "spring", actor="ana@ops")
    assert set((await everything(pool)).values()) == {0}


async def test_a_new_plan_that_is_killed_is_made_by_the_same_apply_again(
    ready: str, pool: Pool, asked: CampaignSpec
) -> None:
    await create_campaign(ready, asked)
    wanted = replace(asked, language="pt_BR")

    def kill(progress: Any) -> None:
        if progress.stage == "freezing":
            raise Killed

    with pytest.raises(Killed):
        await create_campaign(ready, wanted, kill, change_by="ana@ops")
    again = await changed(ready, wanted)
    assert (again.unchanged, again.counts.recipients) == (False, 10)
    assert (await everything(pool))["recipients"] == 10


async def test_a_name_is_no_external_id(ready: str, asked: CampaignSpec) -> None:
    with pytest.raises(UsageError, match="cannot begin with external:"):
        await create_campaign(ready, replace(asked, name="external:crm-7"))


@pytest.mark.parametrize("name", [".", "..", " .. "])
async def test_a_name_is_no_step_of_a_path(ready: str, pool: Pool, asked: CampaignSpec, name: str) -> None:
    """Browsers take the step, however it is encoded: its pages could not be reached."""
    with pytest.raises(UsageError, match="cannot be '") as refused:
        await create_campaign(ready, replace(asked, name=name))
    assert refused.value.key == "name"
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 0


async def test_a_name_outranks_an_external_id(ready: str, pool: Pool, asked: CampaignSpec) -> None:
    await create_campaign(ready, replace(asked, external_id="summer"))
    await create_campaign(ready, replace(asked, name="summer"))
    assert (await control.find_campaign(pool, "summer")).name == "summer"
    assert (await control.find_campaign(pool, "external:summer")).name == "spring"


async def test_a_campaign_is_steered_by_its_external_id(ready: str, pool: Pool, asked: CampaignSpec) -> None:
    await create_campaign(ready, replace(asked, external_id="crm-7"))
    async with pool.acquire() as connection:
        for act in (control.start, control.pause, control.resume, control.cancel):
            assert (await act(connection, "external:crm-7")).name == "spring"
        assert (await control.find_campaign(connection, "crm-7")).name == "spring"
        with pytest.raises(ConfigurationError, match='no campaign "external:crm"'):
            await control.start(connection, "external:crm")
