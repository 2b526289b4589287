"""Exports for people: words instead of codes, on one clock, in a file that is named after the campaign."""

import csv
import re
from datetime import date

from drumbeat.campaigns.console.web.attachments import attachment
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.engine.store.database import Pool
from tests.console.conftest import BAD_CODE, NUMBER, PHONE, Caller

EXPORT = "/campaigns/spring/export?words=true&zone=Europe/Berlin"


async def test_marketing_gets_words_and_its_own_columns(pool: Pool, callers: dict[Role, Caller]) -> None:
    await pool.execute("UPDATE outcomes SET read_at = '2026-07-01T12:00Z' WHERE status = 5")
    reply = await callers[Role.LOOK].get(f"{EXPORT}&state=read&state=failed")
    rows = list(csv.DictReader(reply.text.removeprefix("\ufeff").splitlines()))
    read, failed = rows
    assert read["Phone"] == f"(+55) {str(PHONE)[2:]}"
    assert (read["name"], read["order"], read["State"]) == ("Ana <b>0</b>", "A0", "Read")
    assert read["Read (Europe/Berlin)"] == "2026-07-01 14:00:00"
    assert failed["State"] == "Failed" and failed["What to do"]
    assert not {"wamid", "phone_number_id", "code"} & set(read), "they are for programs"
    assert str(BAD_CODE) not in reply.text and NUMBER not in reply.text


async def test_a_german_spreadsheet_opens_it_with_accents_and_columns(callers: dict[Role, Caller]) -> None:
    reply = await callers[Role.LOOK].get(EXPORT, headers={"Accept-Language": "de"})
    assert reply.text.startswith("\ufeffTelefon;name;order;Stand;")


async def test_a_form_without_words_and_the_interface_stay_technical(callers: dict[Role, Caller]) -> None:
    caller = callers[Role.LOOK]
    assert '"phone":' in (await caller.get(f"{EXPORT}&format=jsonl")).text
    assert (await caller.get("/campaigns/spring/export")).text.startswith("\ufeffphone,state,")
    assert (await caller.get("/api/v1/campaigns/spring/export")).text.startswith("\ufeffphone,state,")


async def test_the_file_is_named_after_the_campaign_and_the_day(callers: dict[Role, Caller]) -> None:
    given = (await callers[Role.LOOK].get(EXPORT)).headers["Content-Disposition"]
    found = re.fullmatch(r"attachment; filename=\"spring recipients ([\d-]+)\.csv\"; filename\*=.*", given)
    assert found and date.fromisoformat(found[1])


def test_the_name_of_a_file_holds_nothing_that_a_system_refuses() -> None:
    given = attachment("csv", 'a/b"c\r\nd ä', zone="UTC")
    assert 'filename="a-b-c-d _ 2' in given and "a-b-c-d%20%C3%A4%202" in given
