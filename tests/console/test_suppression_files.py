"""Files of phones to suppress: uploaded, read beside the request, with what could not be read; and the list as CSV."""

import asyncio
import json
import re
from pathlib import Path

import aiohttp
import pytest

from drumbeat.campaigns.phones.suppression import add_suppressions
from drumbeat.engine.store.database import Pool
from tests.console.conftest import PHONE, Caller, Reply
from tests.console.plain_browser import Browser, browser_of

LIST = f"name;Handy\nAna;+{PHONE}\nBo;nonsense\nCy;+{PHONE + 1}\n"


@pytest.fixture
async def here(url: str) -> Browser:
    return await browser_of(url)


async def finished(here: Browser, address: str) -> Reply:
    async with asyncio.timeout(30):
        while True:
            page = await here.get(address)
            if "Could not be read" in page.text:
                return page
            await asyncio.sleep(0.05)


async def phones(pool: Pool) -> list[int]:
    return [row["phone"] for row in await pool.fetch("SELECT phone FROM suppressions ORDER BY phone")]


async def test_a_file_is_read_and_its_bad_rows_are_listed(pool: Pool, here: Browser, tmp_path: Path) -> None:
    address = (await here.upload("/suppression/import", LIST)).headers["Location"]
    asked = (await here.get(address)).text
    assert re.search(r"<option selected>\s*Handy", asked) and "nonsense" in asked
    assert (await here.send(address, {"phone_column": "Handy", "reason": "asked us"})).status == 303
    page = (await finished(here, address)).text
    assert "nonsense" in page and "not one phone number" in page
    rejects = await here.get(f"{address}/rejects")
    assert rejects.headers["Content-Disposition"].startswith("attachment") and "nonsense" in rejects.text
    assert await phones(pool) == [PHONE, PHONE + 1]
    (noted,) = await pool.fetch("SELECT actor, detail FROM audit WHERE action = 'suppress'")
    assert noted["detail"] == {"source": "import", "phones": 2}
    (kept,) = (tmp_path / "uploads").iterdir()
    assert not list(kept.glob("audience*"))  # the phones are on the list, and nowhere else


async def test_an_import_that_cannot_be_says_why_and_can_be_repeated(pool: Pool, here: Browser) -> None:
    address = (await here.upload("/suppression/import", LIST)).headers["Location"]
    await here.send(address, {"phone_column": "no such", "reason": "asked by mail", "region": "BR"})
    async with asyncio.timeout(30):
        while 'role="alert"' not in (page := (await here.get(address)).text):
            await asyncio.sleep(0.05)
    assert "no such" in page
    assert 'value="asked by mail"' in page and 'value="BR" selected' in page
    await here.send(address, {"phone_column": "Handy", "reason": "x"})
    await finished(here, address)
    assert await phones(pool) == [PHONE, PHONE + 1]


async def test_what_is_no_table_is_refused(here: Browser, tmp_path: Path) -> None:
    assert (await here.upload("/suppression/import", b"\x89PNG\r\n", name="cat.csv")).status == 422
    assert list((tmp_path / "uploads").iterdir()) == []


async def test_the_export_holds_every_phone_and_no_formula(pool: Pool, here: Browser) -> None:
    async with pool.acquire() as connection:
        await add_suppressions(connection, [f"+{PHONE}"], "=1+1", actor="test")
    reply = await here.get("/suppression/export")
    header, line = reply.text.splitlines()
    assert header == "phone,reason,added_at,source"
    assert line.startswith(f"+{PHONE},'=1+1,") and line.endswith(",hand")


async def test_a_program_uploads_a_list(pool: Pool, manager: Caller, tmp_path: Path) -> None:
    data = aiohttp.FormData()
    data.add_field("spec", json.dumps({"reason": "asked us"}), content_type="application/json")
    data.add_field("file", LIST, filename="list.csv")
    reply = await manager.post("/api/v1/suppressions/import", data=data)
    assert (reply.body["changed"], reply.body["rejected"]) == (2, 1)
    assert [row["line"] for row in reply.body["rejects"]] == [3]
    assert await phones(pool) == [PHONE, PHONE + 1]
    assert list((tmp_path / "uploads").iterdir()) == []


TWO = f"name,hotel,phone,mobile\nAda,Alfa,+{PHONE},+{PHONE + 1}\nBen,Beta,+{PHONE + 2},+{PHONE + 3}\n"


async def test_two_columns_of_phones_are_a_question(pool: Pool, here: Browser, manager: Caller) -> None:
    address = (await here.upload("/suppression/import", TWO.encode())).headers["Location"]
    page = (await here.get(address)).text
    assert "Several columns hold phone numbers: phone, mobile" in page
    assert not re.search(r"<option selected>", page)

    data = aiohttp.FormData()
    data.add_field("spec", json.dumps({"reason": "asked us"}), content_type="application/json")
    data.add_field("file", TWO, filename="list.csv")
    reply = await manager.post("/api/v1/suppressions/import", data=data)
    assert reply.status == 422
    assert "phone, mobile" in reply.body["detail"]
    assert await phones(pool) == []


async def test_an_import_of_plain_digits_asks_for_the_country_before_anything_is_stored(
    pool: Pool, manager: Caller
) -> None:
    data = aiohttp.FormData()
    data.add_field("spec", json.dumps({"reason": "asked us"}), content_type="application/json")
    data.add_field("file", "phone\n415 555 0101\n415 555 0102\n479 555 0120\n", filename="list.csv")
    reply = await manager.post("/api/v1/suppressions/import", data=data)
    assert reply.status == 422
    assert "numbers of US" in reply.body["detail"]
    assert await phones(pool) == []
