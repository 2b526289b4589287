"""Variants of a campaign: who gets which, what became of them, and what the results say."""

from dataclasses import replace

import pytest

from drumbeat.campaigns.cli.report_text import report_lines
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.variants import Variant, read_variants
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.results.report import campaign_report
from drumbeat.campaigns.results.variants import VariantResult, verdicts
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import DEFINITION, PHONE, WriteAudience
from tests.kit.rows import add_template

SHORT, LONG = Variant("short", "order"), Variant("long", "parcel", 3)


@pytest.fixture
async def experiment(
    ready: str, pool: Pool, spec: CampaignSpec, write_audience: WriteAudience
) -> CampaignSpec:
    """400 people, every second of them Brazilian, and a second template in English and Portuguese."""
    await add_template(pool, "parcel", DEFINITION, "en", "pt_BR")
    rows = [f"{PHONE + n},Name {n},A{n},{('en', 'pt')[n % 2]}" for n in range(400)]
    path = write_audience("phone,name,order,tongue\n" + "\n".join(rows) + "\n", name="many.csv")
    return replace(spec, audience=path, template=None, variant=[str(SHORT), str(LONG)])


async def indexes(pool: Pool, campaign_id: int) -> list[int]:
    rows = await pool.fetch(
        "SELECT template_index FROM recipients JOIN ranges USING (range_id) WHERE campaign_id = $1 ORDER BY line",
        campaign_id,
    )
    return [row["template_index"] for row in rows]


async def test_variants_and_languages_divide_the_people_independently(
    ready: str, pool: Pool, experiment: CampaignSpec
) -> None:
    plain = await create_campaign(ready, replace(experiment, experiment="e"))
    both = await create_campaign(
        ready, replace(experiment, name="both", language_column="tongue", experiment="e")
    )

    variants = await indexes(pool, plain.campaign_id)
    assert await indexes(pool, both.campaign_id) == [
        2 * variant + n % 2 for n, variant in enumerate(variants)
    ]
    assert [(share.variant, share.name, share.language) for share in both.campaign.templates] == [
        ("short", "order", "en"), ("short", "order", "pt_BR"), ("long", "parcel", "en"), ("long", "parcel", "pt_BR"),
    ]  # fmt: skip
    assert sum(share.recipients or 0 for share in both.campaign.templates) == 400
    assert (
        250
        < sum(share.recipients or 0 for share in plain.campaign.templates if share.variant == "long")
        < 350
    )


async def test_another_experiment_divides_otherwise(ready: str, pool: Pool, experiment: CampaignSpec) -> None:
    first, second = [
        await indexes(pool, (await create_campaign(ready, replace(experiment, name=name))).campaign_id)
        for name in ("one", "two")
    ]
    assert first != second


async def test_a_language_counts_if_every_variant_has_it(
    ready: str, pool: Pool, experiment: CampaignSpec
) -> None:
    await pool.execute("DELETE FROM templates WHERE name = 'parcel' AND language = 'pt_BR'")
    created = await create_campaign(ready, replace(experiment, language_column="tongue"))
    assert [(share.variant, share.language) for share in created.campaign.templates] == [
        ("short", "en"),
        ("long", "en"),
    ]
    assert created.audience.unmatched == {"pt": 200}


async def test_the_weights_belong_to_the_identity(ready: str, experiment: CampaignSpec) -> None:
    await create_campaign(ready, experiment)
    with pytest.raises(ConfigurationError, match="variant was short=order:1, long=parcel:3 and is"):
        await create_campaign(ready, replace(experiment, variant=[str(SHORT), str(replace(LONG, weight=1))]))


async def test_the_report_has_the_results_of_each_variant(
    ready: str, pool: Pool, experiment: CampaignSpec
) -> None:
    created = await create_campaign(ready, experiment)
    await pool.execute("UPDATE campaigns SET state = 'running', started_at = now()")
    await pool.execute("UPDATE ranges SET claimed_through = last_seq")
    # Of the short ones, a quarter failed and the rest was delivered; of the long ones, everybody read and answered.
    await pool.execute(
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason,"
        " attempted_at) SELECT range_id, seq, 1, 1, CASE WHEN fails THEN 2 ELSE 1 END,"
        "        CASE WHEN fails THEN NULL WHEN template_index = 0 THEN 4 ELSE 5 END, '1001', 'w' || line,"
        "        CASE WHEN fails THEN 131026 END, CASE WHEN fails THEN 'no' END, now()"
        " FROM (SELECT *, template_index = 0 AND line % 4 = 0 AS fails FROM recipients) AS recipients"
    )
    await pool.execute(
        "INSERT INTO incoming_messages (wamid, sender, type, sent_at, body)"
        " SELECT 'in' || line, phone::text, 'text', now(), jsonb_build_object('context', jsonb_build_object('id', 'w' || line))"
        " FROM recipients WHERE template_index = 1"
    )

    report = await campaign_report(pool, created.campaign_id)

    short, long = report.variants
    assert short.sent + long.sent == 400
    assert long.counts == {
        "accepted": long.sent, "delivered": long.sent, "read": long.sent, "failed": 0, "replied": long.sent,
    }  # fmt: skip
    assert short.counts["read"] == short.counts["replied"] == 0
    assert short.counts["failed"] == short.sent - short.counts["delivered"] > 0
    assert verdicts(report.variants)["read"] == "long does better: its interval lies above the others'"
    (shown,) = [line for line in report_lines(report) if line.startswith("  long (parcel)")]
    assert f"{long.sent:,} of {long.sent:,} sent to" in shown
    share = report.as_json()["variants"][1]["read"]
    assert (share["recipients"], share["share"], share["high"]) == (long.sent, 1.0, 1.0)
    assert 0.97 < share["low"] < 1


def result(name: str, sent: int, read: int) -> VariantResult:
    counts = {"accepted": sent, "delivered": read, "read": read, "failed": 0, "replied": 0}
    return VariantResult(name, "order", sent, sent, counts)


@pytest.mark.parametrize(
    ("results", "verdict"),
    [
        ([result("a", 0, 0), result("b", 0, 0)], "too early: the intervals overlap"),
        ([result("a", 10, 9), result("b", 10, 5)], "too early: the intervals overlap"),
        ([result("a", 1000, 500), result("b", 1000, 400)], "a does better: its interval lies above the others'"),
        ([result("a", 1000, 400), result("b", 1000, 500)], "b does better: its interval lies above the others'"),
        ([result("a", 1000, 500), result("b", 1000, 400), result("c", 20, 8)], "too early: the intervals overlap"),
    ],
)  # fmt: skip
def test_the_verdict(results: list[VariantResult], verdict: str) -> None:
    assert verdicts(results)["read"] == verdict


def test_variants_as_the_command_line_names_them() -> None:
    assert read_variants(["short=order", "long=parcel:3"]) == (SHORT, LONG)
    assert read_variants([]) == ()


@pytest.mark.parametrize(
    "texts",
    [["a=b"], ["a=b", "a=c"], ["a", "b=c"], ["=b", "c=d"], ["a=", "c=d"], ["a=b:0", "c=d"], ["a=b:x", "c=d"],
     ["a=b:-1", "c=d"], ["a=b:", "c=d"], ["a=b:1001", "c=d"], [f"v{n}=t" for n in range(21)]],
)  # fmt: skip
def test_what_is_no_variant(texts: list[str]) -> None:
    with pytest.raises(UsageError):
        read_variants(texts)
