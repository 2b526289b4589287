"""A new campaign's list over HTTP: rows corrected by hand, worksheets, rubbish, and a list that takes time."""

import html
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import xlsxwriter

from drumbeat.campaigns.audience.check import inspection_process
from drumbeat.campaigns.audience.check.bad_rows import KEPT_MAX
from drumbeat.campaigns.console.new import choices, list_check
from drumbeat.campaigns.console.new import rows_pages as new_rows
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.engine.store.database import Pool
from tests.campaigns.workbook_files import Sheet, write_xlsx_sheet
from tests.console.conftest import PHONE, Caller, Reply

BAD = (
    f"phone,name,order\n+{PHONE + 70},Bo,B1\nnonsense,Cy,B2\n+{PHONE + 71},Di,B3\n+{PHONE + 72},Ed,B4,more\n"
)


async def uploaded(caller: Caller, content: str | bytes, name: str = "people.csv") -> Reply:
    form = aiohttp.FormData()
    form.add_field("audience", content if isinstance(content, bytes) else content.encode(), filename=name)
    return await caller.post("/new", data=form)


async def listed(caller: Caller, content: str | bytes, name: str = "people.csv", **fields: Any) -> str:
    """The address of an uploaded list whose columns are chosen."""
    path = (await uploaded(caller, content, name)).headers["Location"]
    chosen = await caller.post(path, data={"phone_column": "phone", **fields})
    assert (chosen.status, chosen.headers["Location"]) == (303, f"{path}/rows")
    return str(path)


async def choose_message(caller: Caller, path: str) -> None:
    await caller.post(f"{path}/template", data={"template": "order en"})
    filled = {"source.1": "column:name", "source.2": "column:order", "language": "en", "go": "next"}
    assert (await caller.post(f"{path}/message", data=filled)).status == 303


async def checked(caller: Caller, path: str, query: str = "") -> str:
    """The page of the check, once it has ended."""
    while True:
        page = (await caller.get(f"{path}/rows{query}")).text
        if "data-done" in page:
            return page


def figure(page: str, name: str) -> int:
    found = re.search(rf'id="{name}">([0-9,]+)<', page)
    assert found is not None, page
    return int(found[1].replace(",", ""))


@pytest.fixture
def sender(callers: dict[Role, Caller]) -> Caller:
    return callers[Role.SEND]


async def test_two_bad_rows_are_corrected_and_become_recipients(
    sender: Caller, pool: Pool, tmp_path: Path
) -> None:
    path = await listed(sender, BAD)
    page = await checked(sender, path)
    assert (figure(page, "good"), figure(page, "bad")) == (2, 2)
    assert "not one phone number" in page
    assert "more or fewer cells" in page
    cells = {"cell.3.0": f"+{PHONE + 73}", "cell.3.1": "Cy", "cell.3.2": "B2"}
    cells |= {"cell.5.0": f"+{PHONE + 72}", "cell.5.1": "Ed", "cell.5.2": "B4"}
    assert (await sender.post(f"{path}/rows", data=cells)).status == 303
    page = await checked(sender, path)
    assert (figure(page, "good"), figure(page, "bad")) == (4, 0)
    assert "All rows can be read." in page
    await choose_message(sender, path)
    created = await sender.post(f"{path}/sending", data={"name": "autumn", "number": "1001"})
    assert created.headers["Location"] == "/campaigns/autumn/launch"
    rows = await pool.fetch(
        "SELECT line, phone, variables FROM recipients JOIN ranges USING (range_id)"
        " JOIN campaigns USING (campaign_id) WHERE name = 'autumn' ORDER BY line"
    )
    assert [(row["line"], row["phone"] - PHONE, row["variables"]) for row in rows] == [
        (2, 70, ["Bo", "B1"]),
        (3, 73, ["Cy", "B2"]),
        (4, 71, ["Di", "B3"]),
        (5, 72, ["Ed", "B4"]),
    ]
    detail = await pool.fetchval(
        "SELECT detail FROM audit WHERE action = 'create' ORDER BY audit_id DESC LIMIT 1"
    )
    assert (detail["rows"], detail["corrected"]) == (4, 2)


async def test_a_row_that_is_still_bad_is_shown_again_as_it_was_typed(sender: Caller) -> None:
    path = await listed(sender, BAD)
    await checked(sender, path)
    await sender.post(f"{path}/rows", data={"cell.3.0": "+55 11 <x>"})
    page = await checked(sender, path)
    assert figure(page, "bad") == 2
    assert html.escape("+55 11 <x>") in page
    await sender.post(f"{path}/rows", data={"discard": "1"})
    page = await checked(sender, path)
    assert 'value="nonsense"' in page


async def test_once_the_message_is_chosen_its_empty_cells_are_bad_rows(sender: Caller) -> None:
    path = await listed(sender, f"phone,name,order\n+{PHONE + 70},,B1\n+{PHONE + 71},Di,B3\n")
    assert figure(await checked(sender, path), "bad") == 0
    await choose_message(sender, path)
    page = await checked(sender, path)
    assert figure(page, "bad") == 1
    assert "The cell is empty." in page
    await sender.post(path, data={"phone_column": "phone", "empty.1": "friend"})
    assert figure(await checked(sender, path), "bad") == 0


async def test_a_form_of_an_earlier_check_changes_nothing(sender: Caller) -> None:
    path = await listed(sender, BAD)
    await checked(sender, path)
    stale = await sender.post(f"{path}/rows", data={"cell.2.0": "1"})
    assert stale.status == 409
    assert "Load it again" in stale.text or "load it again" in stale.text
    wide = await sender.post(f"{path}/rows", data={"cell.3.9": "1"})
    assert wide.status == 409


async def test_too_many_corrections_are_refused_and_kept_in_the_form(
    sender: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choices, "CORRECTED_MAX", 1)
    path = await listed(sender, BAD)
    await checked(sender, path)
    both = {"cell.3.0": "typed one", "cell.5.0": "typed two"}
    refused = await sender.post(f"{path}/rows", data=both)
    assert refused.status == 422
    assert 'value="typed one"' in refused.text
    assert 'value="typed two"' in refused.text


async def test_bad_rows_come_in_pages_and_all_of_them_in_a_file(sender: Caller) -> None:
    rows = "".join(f"bad{row},Ana,A\n" for row in range(KEPT_MAX + 5))
    path = await listed(sender, f"phone,name,order\n+{PHONE},Bo,B1\n{rows}")
    page = await checked(sender, path)
    assert figure(page, "bad") == KEPT_MAX + 5
    assert page.count('name="cell.') == new_rows.PAGE_ROWS
    second = await checked(sender, path, f"?after={2 + new_rows.PAGE_ROWS}")
    assert f'name="cell.{3 + new_rows.PAGE_ROWS}.0"' in second
    listing = await sender.get(f"{path}/rows/download")
    assert listing.headers["Content-Disposition"].startswith("attachment")
    assert len(listing.text.splitlines()) == 1 + KEPT_MAX + 5


async def test_a_worksheet_is_chosen_and_another_one_forgets_what_was_chosen(
    sender: Caller, tmp_path: Path
) -> None:
    file = tmp_path / "two.xlsx"
    with xlsxwriter.Workbook(file) as workbook:
        for name, phone in (("Clients", PHONE + 70), ("Leads", "nonsense")):
            sheet = workbook.add_worksheet(name)
            sheet.write_row(0, 0, ["phone", "name"])
            sheet.write_row(1, 0, [str(phone), f"of {name}"])
    path = (await uploaded(sender, file.read_bytes(), "two.xlsx")).headers["Location"]
    first = await sender.get(path)
    assert "Choose the one with the list" in first.text
    assert (await sender.get(path)).text.count("2 rows") == 2
    await sender.post(path, data={"sheet": "Leads"})
    assert "of Leads" in (await sender.get(path)).text
    await sender.post(path, data={"sheet": "Leads", "phone_column": "phone"})
    assert figure(await checked(sender, path), "bad") == 1
    await sender.post(f"{path}/rows", data={"cell.2.0": str(PHONE + 71)})
    await sender.post(path, data={"sheet": "Clients"})
    assert "of Clients" in (await sender.get(path)).text
    assert (await sender.get(f"{path}/rows")).headers["Location"] == path
    await sender.post(path, data={"sheet": "Clients", "phone_column": "phone"})
    page = await checked(sender, path)
    assert (figure(page, "good"), figure(page, "bad")) == (1, 0)
    assert "corrected by hand" not in page


async def test_the_page_asks_where_a_list_below_a_title_begins(sender: Caller, tmp_path: Path) -> None:
    file = tmp_path / "titled.xlsx"
    rows = [["Customers of <May>"], [], ["phone", "name"], [str(PHONE + 70), "Ada"], [str(PHONE + 71), "Ben"]]
    write_xlsx_sheet(file, Sheet(rows))
    path = (await uploaded(sender, file.read_bytes(), "titled.xlsx")).headers["Location"]
    asked = (await sender.get(path)).text
    assert "seem to be in row 3" in asked
    assert "Customers of &lt;May&gt;" in asked
    assert re.search(r'value="3" required checked', asked)
    await sender.post(path, data={"header_row": "3"})
    page = (await sender.get(path)).text
    assert '<input type="number" name="header_row" min="1" max="1000" required value="3">' in page
    assert "<th>name</th>" in page
    await sender.post(path, data={"phone_column": "phone"})
    assert figure(await checked(sender, path), "good") == 2
    assert (await sender.post(path, data={"header_row": "9"})).status == 303
    assert "has no names of columns" in (await sender.get(path)).text
    assert "seem to be in row 3" in (await sender.get(path)).text


async def test_national_numbers_are_a_question_with_the_countries_that_fit(sender: Caller) -> None:
    numbers = "".join(f"0171 39 200{at:02}\n" for at in range(12))
    path = await listed(sender, f"phone\n{numbers}")
    shown = html.unescape(await checked(sender, path))
    assert "12 of 12 numbers are readable as numbers of Germany" in shown
    assert "--region" not in shown
    assert 'name="use_region" value="DE">Use Germany' in shown
    await sender.post(path, data={"use_region": "DE"})
    assert figure(await checked(sender, path), "good") == 12
    assert (await sender.post(path, data={"use_region": "XX"})).status == 422


async def test_the_page_asks_what_happens_to_hidden_rows(sender: Caller, tmp_path: Path) -> None:
    file = tmp_path / "filtered.xlsx"
    names = ("Ada", "Ben", "Cleo")
    rows = [["phone", "name"], *([str(PHONE + 70 + at), name] for at, name in enumerate(names))]
    write_xlsx_sheet(file, Sheet(rows, hidden_rows=(1, 3), filtered=True))
    path = (await uploaded(sender, file.read_bytes(), "filtered.xlsx")).headers["Location"]
    assert "The sheet hides 2 rows" in (await sender.get(path)).text
    await sender.post(path, data={"hidden_rows": "skip"})
    page = (await sender.get(path)).text
    assert "Ben" in page
    assert "Ada" not in page
    await sender.post(path, data={"phone_column": "phone"})
    assert figure(await checked(sender, path), "good") == 1
    await sender.post(path, data={"hidden_rows": "read"})
    await sender.post(path, data={"phone_column": "phone"})
    assert figure(await checked(sender, path), "good") == 3


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "people.csv", "a picture (PNG), not a table"),
        (b"%PDF-1.7", "people.pdf", "export the recipients as CSV or XLSX"),
        (b"PK\x03\x04 cut off", "people.xlsx", "cut off or damaged"),
        (b"", "people.csv", "the file is empty"),
        (b'[{"phone": "1"}]', "people.json", "one JSON array"),
        (b"PAR1 and no more", "people.parquet", "Parquet file is cut off or damaged"),
    ],
)
async def test_rubbish_is_named_beside_the_form_for_another_file(
    sender: Caller, content: bytes, name: str, words: str
) -> None:
    reply = await uploaded(sender, content, name)
    if reply.status == 303:
        reply = await sender.get(reply.headers["Location"])
    assert reply.status == 422
    assert words in html.unescape(reply.text)
    assert 'name="audience"' in reply.text


async def test_the_page_asks_for_an_encoding_by_the_names_that_it_makes(sender: Caller) -> None:
    content = f"phone,name,order\n+{PHONE + 60},Wąsik,1\n+{PHONE + 61},Łucja,2\n".encode("cp1250")
    path = (await uploaded(sender, content)).headers["Location"]
    asked = (await sender.get(path)).text
    assert 'value="cp1250"' in asked
    assert "Wąsik · Łucja" in asked
    assert 'name="phone_column"' not in asked

    chosen = await sender.post(path, data={"encoding": "cp1250"})
    assert (chosen.status, chosen.headers["Location"]) == (303, path)
    shown = (await sender.get(path)).text
    assert "<td>Łucja</td>" in shown
    await sender.post(path, data={"phone_column": "phone"})
    await choose_message(sender, path)
    assert figure(await checked(sender, path), "good") == 2

    await sender.post(path, data={"encoding": ""})
    assert 'value="cp1250"' in (await sender.get(path)).text


async def test_what_looks_broken_is_shown_and_repaired_on_request(sender: Caller) -> None:
    path = await listed(sender, f"phone,name,order\n+{PHONE + 60},ZoÃ«,NULL\n+{PHONE + 61},Bo ,2\n")
    await choose_message(sender, path)
    page = await checked(sender, path)
    found = page[page.index('id="findings"') :]
    assert re.search(r"name: .*garbled.*<q>ZoÃ«</q>.*row 2", found)
    assert re.search(r"order: .*no value.*<q>NULL</q>", found)
    assert 'name="repair" value="1"' in found

    await sender.post(f"{path}/rows", data={"repair": "1"})
    page = await checked(sender, path)
    assert "Garbled letters were restored" in page
    assert 'name="repair" value="0"' in page
    await sender.post(f"{path}/rows", data={"empty_words": "1"})
    assert figure(await checked(sender, path), "bad") == 1


async def test_a_wrong_choice_is_said_where_it_was_made(sender: Caller) -> None:
    path = (await uploaded(sender, BAD)).headers["Location"]
    refused = await sender.post(path, data={"phone_column": "phone", "region": "XX", "empty.1": "friend"})
    assert refused.status == 422
    assert "there is no region" in html.unescape(refused.text)
    assert 'value="friend"' in refused.text


async def test_recipients_of_a_campaign_are_left_out(sender: Caller, campaign: str) -> None:
    """And a name that is also that of a file names the campaign."""
    path = await listed(sender, f"phone,name,order\n+{PHONE},Bo,B1\n+{PHONE + 90},Di,B3\n", exclude="spring")
    await choose_message(sender, path)
    sending = {"name": "autumn", "number": "1001", "check": "1"}
    await sender.post(f"{path}/sending", data=sending)
    page = (await sender.get(f"{path}/sending")).text
    assert "2 rows = 1 recipients + 1 bad rows" in page


async def test_while_a_long_list_is_checked_the_page_says_so_and_others_are_answered(
    sender: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The check goes on in its process while nobody looks; its end brings the page with the figures."""
    monkeypatch.setattr(new_rows, "WAIT_S", 0.0)
    rows = "".join(f"+{PHONE + row},Ana,A\n" for row in range(200_000))
    path = await listed(sender, f"phone,name,order\n{rows}")
    page = (await sender.get(f"{path}/rows")).text
    assert f'data-stream="/live{path}/rows"' in page
    assert (await sender.get("/campaigns")).status == 200
    assert figure(await checked(sender, path), "good") == 200_000


async def test_a_check_whose_process_ends_early_says_so(
    sender: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_check, "PROCESS", "campaigns.nothing")
    path = await listed(sender, BAD)
    assert "ended early" in await checked(sender, path)
    monkeypatch.setattr(list_check, "PROCESS", inspection_process.__name__)
    await sender.post(f"{path}/rows", data={"again": "1"})
    assert figure(await checked(sender, path), "bad") == 2


async def said_of_sending(sender: Caller, path: str) -> str:
    """What the check of the last step says, whether it refuses at once or has counted."""
    sending = {"name": "autumn", "number": "1001", "check": "1"}
    replied = await sender.post(f"{path}/sending", data=sending)
    return html.unescape(
        replied.text if replied.status == 422 else (await sender.get(f"{path}/sending")).text
    )


async def test_people_of_a_file_are_left_out_and_the_file_is_named_as_its_owner_does(sender: Caller) -> None:
    path = await listed(sender, f"phone,name,order\n+{PHONE},Bo,B1\n+{PHONE + 90},Di,B3\n")
    await choose_message(sender, path)
    await exclude(sender, path, f"Phone\n{PHONE + 90}\n", "left.csv")
    assert "left.csv" in (await sender.get(path)).text
    await sender.post(path, data={"phone_column": "phone"})
    assert "2 rows = 1 recipients + 1 bad rows" in await said_of_sending(sender, path)
    await exclude(sender, path, "phone\nnonsense\n", "bad.csv")
    page = await said_of_sending(sender, path)
    assert "The phone 'nonsense'" in page
    assert "uploads" not in page
    stored = re.findall(r'name="file" value="([^"]+)"', (await sender.get(f"{path}/exclusions")).text)
    await sender.post(f"{path}/exclusions/remove", data={"file": stored[1]})
    assert "2 rows = 1 recipients + 1 bad rows" in await said_of_sending(sender, path)


async def exclude(sender: Caller, path: str, rows: str, name: str) -> None:
    data = aiohttp.FormData()
    data.add_field("excluded", rows, filename=name)
    assert (await sender.post(f"{path}/exclusions", data=data)).status == 303


async def test_a_file_of_this_machine_cannot_be_removed_or_named(sender: Caller, tmp_path: Path) -> None:
    path, file = await listed(sender, BAD), tmp_path / "of the operator"
    file.write_text("phone\n1\n")
    await sender.post(f"{path}/exclusions/remove", data={"file": str(file)})
    assert file.exists()
    await choose_message(sender, path)
    await sender.post(path, data={"phone_column": "phone", "exclude": str(file)})
    assert "is no campaign" in await said_of_sending(sender, path)


async def test_the_column_of_phones_is_chosen_by_its_cells_and_the_check_shows_countries(
    sender: Caller,
) -> None:
    content = "hotel,celular,pais\nAlfa,(415) 555-0101,US\nBeta,020 7946 0958,GB\n"
    path = (await uploaded(sender, content)).headers["Location"]
    assert "<option selected>celular" in (await sender.get(path)).text
    await sender.post(path, data={"phone_column": "celular"})
    refused = (await sender.get(f"{path}/rows")).text
    assert "“Column of the countries”" in refused and "pais" in refused
    await sender.post(path, data={"phone_column": "celular", "country_column": "pais"})
    page = (await sender.get(f"{path}/rows")).text
    assert "United States 1" in page and "United Kingdom 1" in page
    assert "Landline 1" in page
