"""A dry run shows the first messages as they will be read, and refuses whose message is too long."""

from dataclasses import replace

import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.errors import UsageError
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import PHONE, WriteAudience
from tests.campaigns.creating import recipients

FIXED = len("Hello , your order  is on its way")  # of the template in conftest.py


async def test_the_first_three_people_are_shown(
    ready: str, spec: CampaignSpec, write_audience: WriteAudience
) -> None:
    rows = [f"{PHONE},Mia ,1", "12,x,2", f"+{PHONE},again,3", f"{PHONE + 1},'4711,4"]
    more = [f"{PHONE + at},Name {at},{at}" for at in range(2, 40)]
    path = write_audience("phone,name,order\n" + "\n".join([*rows, *more]) + "\n")

    found = (await create_campaign(ready, replace(spec, audience=path), dry_run=True)).audience

    assert [(each.row, each.phone) for each in found.first_messages] == [
        (2, PHONE),
        (5, PHONE + 1),
        (6, PHONE + 2),
    ]
    assert [each.message.body for each in found.first_messages] == [
        "Hello Mia, your order 1 is on its way",
        "Hello 4711, your order 4 is on its way",
        "Hello Name 2, your order 2 is on its way",
    ]
    assert [each["code"] for each in found.findings] == ["spaces_removed", "apostrophe_removed"]


async def test_a_created_campaign_shows_none(ready: str, spec: CampaignSpec) -> None:
    assert (await create_campaign(ready, spec)).audience.first_messages == ()


async def test_who_would_get_too_long_a_message_is_rejected(
    ready: str, spec: CampaignSpec, write_audience: WriteAudience, pool: Pool
) -> None:
    name = "n" * 900
    orders = ["o" * (1024 - FIXED - 900), "o" * (1025 - FIXED - 900)]
    rows = [f"{PHONE + at},{name},{order}" for at, order in enumerate(orders)]
    path = write_audience("phone,name,order\n" + "\n".join(rows) + "\n")

    created = await create_campaign(ready, replace(spec, audience=path))

    assert created.audience.reject_codes == {"body_too_long": 1}
    assert created.audience.rejects_path is not None
    assert "(1,025 characters)" in created.audience.rejects_path.read_text("utf-8-sig")
    assert [row["phone"] for row in await recipients(pool)] == [PHONE]


async def test_a_fixed_text_that_leaves_no_room_is_refused(ready: str, spec: CampaignSpec) -> None:
    long = replace(spec, param=[f"={'n' * 900}", f"={'o' * 100}"])
    with pytest.raises(UsageError, match=r"the body with its fixed texts has 1,033 characters.*takes 1,024"):
        await create_campaign(ready, long)


async def test_each_language_has_its_own_room(
    ready: str, spec: CampaignSpec, write_audience: WriteAudience, pool: Pool
) -> None:
    text = "x" * 1000
    await pool.execute(
        "UPDATE templates SET definition = jsonb_set(definition, '{components,0,text}', to_jsonb($1::text))"
        " WHERE name = 'order' AND language = 'pt_BR'",
        f"{text} {{{{1}}}} {{{{2}}}}",
    )
    rows = [f"{PHONE},{'n' * 30},1,en", f"{PHONE + 1},{'n' * 30},1,pt", f"{PHONE + 2},n,1,pt"]
    path = write_audience("phone,name,order,lang\n" + "\n".join(rows) + "\n")

    created = await create_campaign(ready, replace(spec, audience=path, language_column="lang"))

    assert created.audience.reject_codes == {"body_too_long": 1}
    assert [row["phone"] for row in await recipients(pool)] == [PHONE, PHONE + 2]
