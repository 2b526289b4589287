"""A campaign in several languages: who gets which, who gets the fallback, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.core.template.campaign_template import frozen_templates
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience

ROWS = (
    f"{PHONE},Ana,A0,pt-br",
    f"{PHONE + 1},Bob,A1,EN",
    f"{PHONE + 2},Eva,A2,de",
    f"{PHONE + 3},Ina,A3,",
    f"{PHONE + 4},Leo,A4,PT",
    f"{PHONE + 4},Leo,A5,en",  # listed in both languages: one person gets one message
    "12,bad,A6,pt",
)


@pytest.fixture
def bilingual(spec: CampaignSpec, write_audience: WriteAudience) -> CampaignSpec:
    path = write_audience("phone,name,order,tongue\n" + "\n".join(ROWS) + "\n")
    return replace(spec, audience=path, language_column="tongue")


async def languages_of(pool: Pool) -> list[tuple[int, str]]:
    templates = frozen_templates(await pool.fetchval("SELECT template FROM campaigns"))
    rows = await pool.fetch("SELECT phone, template_index FROM recipients ORDER BY line")
    return [(row["phone"] - PHONE, templates[row["template_index"]].language) for row in rows]


async def test_each_recipient_has_the_language_of_the_column_or_the_fallback(
    ready: str, pool: Pool, bilingual: CampaignSpec
) -> None:
    created = await create_campaign(ready, bilingual)

    assert await languages_of(pool) == [(0, "pt_BR"), (1, "en"), (2, "en"), (3, "en"), (4, "pt_BR")]
    assert (created.counts.duplicates, created.counts.rejected) == (1, 1)
    assert [(found.language, found.recipients) for found in created.campaign.templates] == [
        ("en", 3),
        ("pt_BR", 2),
    ]
    assert created.audience.unmatched == {"de": 1, "": 1}


async def test_a_value_has_the_language_that_a_person_gives_it(
    ready: str, pool: Pool, bilingual: CampaignSpec
) -> None:
    created = await create_campaign(ready, replace(bilingual, language_map=["DE=pt_BR"]))

    assert (await languages_of(pool))[2] == (2, "pt_BR")
    assert created.audience.unmatched == {"": 1}


async def test_a_value_gets_no_language_that_the_template_does_not_have(
    ready: str, bilingual: CampaignSpec
) -> None:
    with pytest.raises(UsageError, match=r"names no language of the template.*en, pt_BR"):
        await create_campaign(ready, replace(bilingual, language_map=["de=fr"]))


async def test_a_dry_run_says_the_same_and_a_second_create_too(ready: str, bilingual: CampaignSpec) -> None:
    dry = await create_campaign(ready, bilingual, dry_run=True)
    created = await create_campaign(ready, bilingual)
    again = await create_campaign(ready, bilingual)

    assert dry.campaign.templates == created.campaign.templates == list(again.campaign.templates)
    assert again.unchanged


async def test_only_approved_languages_are_used(ready: str, pool: Pool, bilingual: CampaignSpec) -> None:
    await pool.execute("UPDATE templates SET status = 'PAUSED' WHERE language = 'pt_BR'")

    created = await create_campaign(ready, bilingual)

    assert [found.language for found in created.campaign.templates] == ["en"]
    assert created.audience.unmatched == {"pt-br": 1, "PT": 1, "de": 1, "": 1}
    assert {language for _, language in await languages_of(pool)} == {"en"}


async def test_without_the_column_everybody_has_the_one_language(
    ready: str, pool: Pool, bilingual: CampaignSpec
) -> None:
    await create_campaign(ready, replace(bilingual, language_column=None))
    assert {language for _, language in await languages_of(pool)} == {"en"}


async def test_a_strict_create_lists_what_it_does_not_know(
    ready: str, pool: Pool, bilingual: CampaignSpec
) -> None:
    with pytest.raises(ConfigurationError) as refused:
        await create_campaign(ready, replace(bilingual, strict_language=True))

    assert "2 rows name no language of the template" in refused.value.what
    assert "(empty) 1, de 1" in refused.value.what
    assert "tongue" in refused.value.where
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 0


@pytest.mark.parametrize(
    ("text", "difference"),
    [
        ("Oi {{1}}", "order (pt_BR) has no body {{2}}"),
        ("Oi {{1}}, {{2}}, {{3}}", "order (pt_BR) has a body {{3}}"),
    ],
)
async def test_languages_with_other_placeholders_are_refused(
    ready: str, pool: Pool, bilingual: CampaignSpec, text: str, difference: str
) -> None:
    definition = {"components": [{"type": "BODY", "text": text}], "parameter_format": "POSITIONAL"}
    await pool.execute("UPDATE templates SET definition = $1 WHERE language = 'pt_BR'", definition)

    with pytest.raises(UsageError) as refused:
        await create_campaign(ready, bilingual)

    assert difference in refused.value.what


@pytest.mark.parametrize(
    ("changes", "difference"),
    [
        ({"language_column": None}, "language_column was tongue"),
        ({"strict_language": True}, "strict_language"),
    ],
)
async def test_the_options_belong_to_the_identity(
    ready: str, bilingual: CampaignSpec, changes: dict[str, Any], difference: str
) -> None:
    await create_campaign(ready, bilingual)
    with pytest.raises(ConfigurationError, match=difference):
        await create_campaign(ready, replace(bilingual, **changes))


async def test_an_empty_variable_is_found_in_any_language(
    ready: str, bilingual: CampaignSpec, write_audience: WriteAudience
) -> None:
    path = write_audience(
        f"phone,name,order,tongue\n{PHONE},Ana,A,pt\n{PHONE + 1},,B,pt\n{PHONE + 2}, ,C,en\n"
    )
    created = await create_campaign(ready, replace(bilingual, audience=path))
    assert created.audience.reject_codes == {"variable_empty": 2}
    assert created.counts.recipients == 1
