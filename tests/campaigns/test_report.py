"""The rates, actions and counts of a report."""

from dataclasses import replace
from pathlib import Path

import pytest

from drumbeat.campaigns.cli.report_text import report_lines
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.report import campaign_report
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.closing import close_ranges
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.facts import Fact, FactKind
from drumbeat.engine.store.recording import record
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.kit.planted import FIRST_RANGE, NUMBER, plant_campaign, range_counters, recount


@pytest.fixture
def audience(write_audience: WriteAudience) -> Path:
    return write_audience(f"phone\n{PHONE}\n")


@pytest.mark.parametrize(
    ("attempts", "active_s", "words"),
    [
        (1_168, 1.1, "sent for 1.1 s, too short for a rate, 1,168 requests"),
        (2_991, 3.0, "996.7/s of 1000/s (in 3.0 s), 2,991 requests"),
        (9_951, 10.0, "995.0/s of 1000/s (99.5 %), 9,951 requests"),
    ],
)
async def test_a_rate_is_reported_if_the_time_is_long_enough(
    ready: str, pool: Pool, audience: Path, attempts: int, active_s: float, words: str
) -> None:
    spec = CampaignSpec(
        name="spring",
        template="order",
        language="en",
        audience=audience,
        number=["1001"],
        param=["=Hi", "=you"],
    )
    created = await create_campaign(ready, spec)
    await pool.execute(
        "INSERT INTO campaign_numbers (campaign_id, phone_number_id, limit_per_s, attempts, active_s)"
        " VALUES ($1, '1001', 1000, $2, $3)",
        created.campaign_id,
        attempts,
        active_s,
    )
    report = await campaign_report(pool, created.campaign_id)
    assert words in "\n".join(report_lines(report))


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({}, "--param =Hi, =you; --on-unknown hold"),
        (
            {"window": "09:00-20:00", "time_zone": "Europe/Berlin", "max_failed": "5%"},
            "--param =Hi, =you; --window 09:00-20:00; --time-zone Europe/Berlin; --on-unknown hold;"
            " --max-failed 5%",
        ),
    ],
)
async def test_it_says_when_and_with_what_a_campaign_was_planned(
    ready: str, pool: Pool, audience: Path, options: dict[str, str], told: str
) -> None:
    """Otherwise nothing would show the hours of a campaign that is not waiting for them."""
    spec = CampaignSpec(
        name="spring",
        template="order",
        language="en",
        audience=audience,
        number=["1001"],
        param=["=Hi", "=you"],
        **options,
    )  # type: ignore[arg-type]
    report = await campaign_report(pool, (await create_campaign(ready, spec)).campaign_id)
    assert f"Planned with {told}" in list(report_lines(report))
    assert report.as_json()["options"]["window"] == options.get("window")


async def test_reasons_are_bounded_in_each_state_and_add_up(
    ready: str, pool: Pool, write_audience: WriteAudience, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("drumbeat.campaigns.results.report.REASONS_MAX", 2)
    audience = write_audience("phone\n" + "".join(f"{PHONE + n}\n" for n in range(9)))
    spec = CampaignSpec(
        name="spring",
        template="order",
        language="en",
        audience=audience,
        number=["1001"],
        param=["=Hi", "=you"],
    )
    created = await create_campaign(ready, spec)
    await pool.execute("UPDATE recipients SET skip_reason = 'reason ' || least(seq, 5)")
    report = await campaign_report(pool, created.campaign_id)
    assert [(reason.reason, reason.recipients) for reason in report.reasons[RecipientState.SKIPPED]] == [
        ("reason 5", 5),
        ("reason 1", 1),
        ("(3 more reasons)", 3),
    ]
    assert "3  (3 more reasons)" in "\n".join(report_lines(report))


async def test_reasons_add_up_with_the_counts_whatever_became_of_each(pool: Pool) -> None:
    """Everybody counts once, for the reason of the present state, in a range that is closed in the middle."""
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection, recipients=11, claimed_through=6)
        await connection.execute("UPDATE recipients SET skip_reason = 'suppressed' WHERE seq IN (1, 10)")
        await connection.execute("UPDATE range_counters SET skipped = 2")

        def fact(seq: int, kind: FactKind, reason: str = "", **others: int) -> Fact:
            return Fact(campaign, FIRST_RANGE, seq, 1, 1, NUMBER, kind, reason=reason, **others)  # type: ignore[arg-type]

        await record(connection, [fact(2, FactKind.FAILED, "Undeliverable", code=131026)])
        await record(connection, [fact(3, FactKind.UNKNOWN, "reset"), fact(4, FactKind.ACCEPTED)])
        await record(connection, [fact(5, FactKind.DEFERRED, "throttled")])
        # Above the mark, as a guard and an event of a time that the database does not know leave it.
        await record(connection, [fact(7, FactKind.SKIPPED, "opted out"), fact(8, FactKind.ACCEPTED)])
        await record(connection, [fact(11, FactKind.UNKNOWN, "reset")])
        await connection.execute("UPDATE outcomes SET reason = 'assumed sent' WHERE seq = 4")
        await connection.executemany(
            "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, phone_number_id, code, reason)"
            " VALUES ($1, $2, $3, 1, 2, $4, $5, 'of another attempt_no')",
            [
                (FIRST_RANGE, seq, attempt_no, NUMBER, code)
                for seq, attempt_no, code in ((1, 1, 131026), (2, 2, 131047), (3, 0, 131000))
            ],
        )
        running = await campaign_report(pool, campaign)
        await close_ranges(connection, campaign, "cancelled")
        assert await range_counters(connection) == await recount(connection)
    report = await campaign_report(pool, campaign)
    for snapshot in (running, report):
        for state in ("failed", "skipped", "unknown", "deferred"):
            told = sum(reason.recipients for reason in snapshot.reasons.get(RecipientState(state), ()))
            assert told == snapshot.status.counts[RecipientState(state)]
    listing = "  list them with: drumbeat campaign export spring --state failed"
    text = list(report_lines(replace(report, status=replace(report.status, name="spring"))))
    assert text[text.index("Failures by code") + 2] == listing
    assert not any("--state" in line for line in report_lines(replace(report, reasons={})))
    found = {
        (state, snapshot.reason): snapshot.recipients
        for state, told in report.reasons.items()
        for snapshot in told
    }
    assert found == {
        (RecipientState.FAILED, "131047"): 1,
        (RecipientState.UNKNOWN, "reset"): 2,
        (RecipientState.SKIPPED, "suppressed"): 2,
        (RecipientState.SKIPPED, "opted out"): 1,
        (RecipientState.SKIPPED, "cancelled"): 2,
    }


async def test_counts_that_do_not_add_up_are_reported(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection, claimed_through=10)
        await connection.execute("UPDATE range_counters SET accepted = 10")
        await connection.execute("UPDATE campaigns SET recipients = 10, audience_rows = 12, duplicates = 1")
    report = await campaign_report(pool, campaign)
    assert (report.counts_add_up, report.audience_adds_up) == (True, False)
    await pool.execute("UPDATE range_counters SET accepted = 11")
    await pool.execute("UPDATE campaigns SET rejected = 1")
    report = await campaign_report(pool, campaign)
    assert (report.counts_add_up, report.audience_adds_up) == (False, True)


async def test_the_cpu_time_of_a_message_is_that_of_all_processes_over_what_was_accepted(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign = await plant_campaign(connection)
    assert (await campaign_report(pool, campaign)).cpu_us_per_message is None
    await pool.executemany(
        "INSERT INTO campaign_numbers (campaign_id, phone_number_id, limit_per_s, accepted, cpu_s)"
        " VALUES ($1, $2, 80, $3, $4)",
        [(campaign, "1", 30_000, 1.0), (campaign, "2", 20_000, 1.5)],
    )
    assert (await campaign_report(pool, campaign)).as_json()["cpu_us_per_message"] == 50.0


async def test_a_report_lists_the_actions_on_its_own_campaign_in_order(pool: Pool) -> None:
    async with pool.acquire() as connection:
        campaign, other = [await plant_campaign(connection, first_range=FIRST_RANGE + n) for n in (0, 10)]
        for action, of in (("pause", campaign), ("cancel", other), ("resend", campaign)):
            await connection.execute(
                "INSERT INTO audit (actor, action, campaign_id, detail) VALUES ('ana', $1, $2, $3)",
                action,
                of,
                {"recipients": 1_200} if action == "resend" else {},
            )
    report = await campaign_report(pool, campaign)
    assert [audit.action for audit in report.audits] == ["pause", "resend"]
    *_, title, paused, resent = report_lines(report)
    assert title == "Audit"
    assert paused.endswith(" ana: pause")
    assert resent.endswith(" ana: resend, recipients 1,200"), "for people: no braces and quotes"
