"""Forms forgive: what is refused stands in the form again, with the reason, and phones may be written as at home."""

import re
from datetime import UTC, datetime
from html import unescape

import pytest

from drumbeat.campaigns.console.campaigns.changing_pages import moment_in
from drumbeat.engine.store.database import Pool
from tests.console.conftest import BAD_CODE, NUMBER, PHONE
from tests.console.plain_browser import Browser, browser_of

NATIONAL, IN_FULL = "(11) 96000-0000", PHONE


@pytest.fixture
async def here(url: str) -> Browser:
    return await browser_of(url)


@pytest.mark.parametrize(
    ("path", "fields", "status"),
    [
        ("/suppression", {"phones": NATIONAL, "region": "", "reason": "asked in the shop"}, 422),
        ("/suppression", {"phones": f"+{PHONE}\nrubbish", "region": "BR", "reason": "asked by mail"}, 422),
        ("/campaigns/spring/test", {"phones": "rubbish", "region": "BR", "row": "2"}, 422),
        (f"/numbers/{NUMBER}/limit", {"limit_per_s": "eighty"}, 422),
        (f"/numbers/{NUMBER}/limit", {"limit_per_s": "-3"}, 422),
        (
            "/campaigns/spring/retry",
            {"code": "abc", "new_name": "again", "start_at": "2099-07-01T09:00"},
            422,
        ),
        ("/campaigns/spring/clone", {"new_name": "spring", "state": "failed"}, 422),
        ("/campaigns/spring/suppress?state=failed", {"reason": "x" * 300}, 422),
    ],
)
async def test_what_was_typed_stays_in_the_form(
    here: Browser, path: str, fields: dict[str, str], status: int
) -> None:
    reply = await here.send(path, fields)
    page = unescape(reply.text)
    assert reply.status == status and 'role="alert"' in page
    for name, value in fields.items():
        shown = f">{value}</textarea>" if name == "phones" else f'value="{value}"'
        assert shown + (" selected" if name in ("region", "state") and value else "") in page, name


async def test_a_refused_edit_keeps_every_field(here: Browser) -> None:
    assert (await here.send("/campaigns/spring/clone", {"new_name": "autumn", "state": ""})).status == 303
    fields = {
        "start_at": "2099-07-01T09:00",
        "expires_at": "2000-01-01T00:00",
        "quiet_hours": "late",
        "canary": "3",
    }
    reply = await here.send("/campaigns/autumn/edit", {**fields, "clock": "Asia/Tokyo", "priority": "high"})
    page = unescape(reply.text)
    assert reply.status == 422 and 'role="alert"' in page
    assert "<option selected>Asia/Tokyo" in page and '<option value="high" selected' in page
    for name, value in fields.items():
        assert f'name="{name}"' in page and f'value="{value}"' in page, name


async def test_a_refusal_names_fields_and_no_option_of_the_command_line(here: Browser) -> None:
    suppression = await here.send("/suppression", {"phones": NATIONAL, "region": "", "reason": "asked"})
    assert "“Country of numbers without a country code”" in unescape(suppression.text)
    assert (await here.send("/campaigns/spring/clone", {"new_name": "autumn", "state": ""})).status == 303
    edit = await here.send("/campaigns/autumn/edit", {"quiet_hours": "20 to 9", "number": NUMBER})
    assert "“Quiet hours of each person” '20 to 9' cannot be read" in unescape(edit.text)
    assert "20:00-09:00" in edit.text
    assert "--" not in re.sub("<!--.*?-->", "", suppression.text.split("<main")[1])


async def test_a_phone_is_suppressed_as_it_is_written_at_home(here: Browser, pool: Pool) -> None:
    fields = {"phones": NATIONAL, "region": "BR", "reason": "asked in the shop"}
    assert (await here.send("/suppression", fields)).status == 303
    rows = await pool.fetch("SELECT phone, reason FROM suppressions")
    assert [tuple(row) for row in rows] == [(IN_FULL, "asked in the shop")]


async def test_a_test_goes_to_a_phone_as_it_is_written_at_home(here: Browser, pool: Pool) -> None:
    reply = await here.send("/campaigns/spring/test", {"phones": NATIONAL, "region": "BR", "row": ""})
    assert reply.status == 303, reply.text
    recipient = "SELECT phone FROM recipients JOIN ranges USING (range_id) JOIN campaigns USING (campaign_id)"
    assert await pool.fetchval(f"{recipient} WHERE name = 'spring/test-1'") == IN_FULL


async def test_times_are_local_to_the_zone_beside_them(here: Browser, pool: Pool) -> None:
    fields = {"code": str(BAD_CODE), "new_name": "again", "expires_at": "", "clock": "Europe/Berlin"}
    reply = await here.send("/campaigns/spring/retry", {**fields, "start_at": "2099-07-01T09:00"})
    assert reply.headers["Location"] == "/campaigns/again", reply.text
    start_at = "SELECT start_at FROM campaigns WHERE name = 'again'"
    assert await pool.fetchval(start_at) == datetime(2099, 7, 1, 7, tzinfo=UTC)
    assert (await here.send("/campaigns/spring/clone", {"new_name": "autumn", "state": ""})).status == 303
    edited = {"start_at": "2099-07-01T10:00", "clock": "Europe/Berlin", "number": NUMBER}
    assert (await here.send("/campaigns/autumn/edit", edited)).status == 303
    shown = (await here.get("/campaigns/autumn/edit")).text
    assert 'type="datetime-local" name="start_at" value="2099-07-01T08:00"' in shown


def test_a_time_that_nobody_changed_stays_as_it_was_given() -> None:
    stored = "2099-07-01T09:00:30+02:00"
    assert moment_in(stored, "2099-07-01T07:00", "UTC") == stored
    assert moment_in(stored, "2099-07-01T09:00", "Europe/Berlin") == stored
    assert moment_in(stored, "2099-07-01T08:00", "UTC") == "2099-07-01T08:00:00+00:00"
