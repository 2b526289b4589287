"""Steps 2 and 3 of a new campaign and its launch over HTTP, without a script: what is kept, shown and refused."""

import asyncio
import html
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from drumbeat.campaigns.console.campaigns import actions
from drumbeat.campaigns.console.campaigns import launch_pages as launch
from drumbeat.campaigns.console.new import actions as upload_planning
from drumbeat.campaigns.console.new import sending_pages as new_sending
from drumbeat.campaigns.console.web import jobs
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.engine.store.database import Pool
from tests.console.conftest import NUMBER, PHONE, Caller, console

LIST = f"phone,name,order,lang\n+{PHONE + 70},Bo,B1,en\n+{PHONE + 71},Cy,B2,de\nnonsense,Di,B3,en\n"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(100)
MESSAGE = {"source.1": "column:name", "source.2": "column:order", "language": "en", "go": "next"}
SENDING = {"name": "autumn", "number": NUMBER, "clock": "UTC"}


@pytest.fixture
def sender(callers: dict[Role, Caller]) -> Caller:
    return callers[Role.SEND]


@pytest.fixture
async def path(sender: Caller) -> str:
    """The address of an uploaded list whose columns are chosen."""
    form = aiohttp.FormData()
    form.add_field("audience", LIST.encode(), filename="people.csv")
    path = str((await sender.post("/new", data=form)).headers["Location"])
    await sender.post(path, data={"phone_column": "phone"})
    return path


async def use(sender: Caller, path: str, template: str = "order en") -> None:
    assert (await sender.post(f"{path}/template", data={"template": template})).status == 303


async def text_of(sender: Caller, path: str) -> str:
    reply = await sender.get(path)
    assert reply.status == 200, reply.text
    return html.unescape(reply.text)


async def add_template(pool: Pool, name: str, language: str, *components: dict[str, Any]) -> None:
    await pool.execute(
        "INSERT INTO templates (name, language, status, category, definition) VALUES ($1, $2, 'APPROVED', 'UTILITY', $3)",
        name,
        language,
        {"components": list(components), "parameter_format": "POSITIONAL"},
    )


def content_of(file: Path) -> bytes:
    return file.read_bytes()


def body(text: str) -> dict[str, Any]:
    return {"type": "BODY", "text": text}


async def test_from_a_message_to_the_start(sender: Caller, path: str, pool: Pool, tmp_path: Path) -> None:
    assert (await sender.get(f"{path}/sending")).headers["Location"] == f"{path}/message"
    await use(sender, path)
    assert (await sender.post(f"{path}/message", data=MESSAGE)).headers["Location"] == f"{path}/sending"
    checked = await sender.post(f"{path}/sending", data={**SENDING, "check": "1"})
    assert checked.headers["Location"] == f"{path}/sending"
    page = await text_of(sender, f"{path}/sending")
    assert "3 rows = 2 recipients + 1 bad rows + 0 repeated phones" in page
    assert "there is no table of prices" in page and "DRUMBEAT_PRICES" in page
    created = await sender.post(f"{path}/sending", data=SENDING)
    assert created.headers["Location"] == "/campaigns/autumn/launch"
    assert not any((tmp_path / "uploads").iterdir())
    summary = await text_of(sender, "/campaigns/autumn/launch")
    assert "2 people get the message order from Lantern" in summary and "Hello Bo, your order B1" in summary
    offered = re.findall(r'data-focus="(\w+)"', await text_of(sender, "/campaigns/autumn"))
    assert offered[:2] == ["start", "cancel"], "nothing runs that a pause would stop"
    assert (await sender.post("/campaigns/autumn/launch")).headers["Location"] == "/campaigns/autumn"
    assert await pool.fetchval("SELECT state FROM campaigns WHERE name = 'autumn'") == "running"
    assert (await sender.get("/campaigns/autumn/launch")).headers["Location"] == "/campaigns/autumn"
    for step in ("", "/message", "/rows", "/sending"):  # gone back, or in another tab
        assert (await sender.get(f"{path}{step}")).headers["Location"] == "/campaigns/autumn/launch"
    again = await sender.post(f"{path}/message", data=MESSAGE)
    assert again.headers["Location"] == "/campaigns/autumn/launch"


async def test_what_no_column_is_named_after_is_left_to_choose(sender: Caller, path: str) -> None:
    await use(sender, path)
    page = await text_of(sender, f"{path}/message")
    assert page.count(">please choose</option>") == 2 and "Hello {{1}}, your order {{2}}" in page
    refused = await sender.post(f"{path}/message", data={**MESSAGE, "source.2": ""})
    assert refused.status == 422 and "Choose what fills {{2}}." in refused.text
    assert "Choose what fills {{1}}." not in refused.text


async def test_a_column_of_the_other_list_is_said_to_be_missing_and_not_replaced(
    sender: Caller, path: str
) -> None:
    await use(sender, path)
    other = {**MESSAGE, "source.2": "column:voucher"}  # as the campaign had it that this one is like
    await sender.post(f"{path}/message", data={**other, "go": "row:0"})
    page = await text_of(sender, f"{path}/message")
    assert "The column “voucher” is not in this list." in page and "Hello Bo, your order {{2}}" in page
    assert '<option value="column:voucher" selected>' in page
    refused = await sender.post(f"{path}/message", data=other)
    assert refused.status == 422 and "Choose what fills {{2}}." in refused.text


async def test_a_check_that_something_chosen_since_made_old_is_not_shown(sender: Caller, path: str) -> None:
    await use(sender, path)
    await sender.post(f"{path}/message", data=MESSAGE)
    await sender.post(f"{path}/sending", data={**SENDING, "check": "1"})
    assert "What the check found" in await text_of(sender, f"{path}/sending")
    await sender.post(f"{path}/message", data={**MESSAGE, "source.2": "column:lang"})
    assert "What the check found" not in await text_of(sender, f"{path}/sending")


async def test_the_check_of_the_rows_and_that_of_the_plan_keep_each_other(sender: Caller, path: str) -> None:
    await use(sender, path)
    await sender.post(f"{path}/message", data=MESSAGE)
    await sender.post(f"{path}/sending", data={**SENDING, "check": "1"})
    for _ in range(2):
        async with asyncio.timeout(30):
            while "data-done" not in (rows := await text_of(sender, f"{path}/rows")):
                await asyncio.sleep(0.02)
        assert '<b id="bad">1</b>' in rows
        assert "What the check found" in await text_of(sender, f"{path}/sending")


async def test_an_error_stands_at_its_field_and_the_form_keeps_what_was_typed(
    sender: Caller, path: str
) -> None:
    await use(sender, path)
    await sender.post(f"{path}/message", data=MESSAGE)
    typed = {
        **SENDING,
        "share": "500",
        "window_from": "09:00",
        "window_until": "20:00",
        "cap_messages": "2",
        "cap_days": "7",
    }
    refused = await sender.post(f"{path}/sending", data=typed)
    assert refused.status == 422
    field = re.search(
        r'<span class="bad" id="e-share">(.*?)</span><input name="share"[^>]*value="500" aria-invalid',
        html.unescape(refused.text),
    )
    assert field is not None and "is not a percentage. Write 1 to 100" in field[1]
    for value in ("autumn", "09:00", "20:00", "2", "7"):
        assert f'value="{value}"' in refused.text


async def test_a_name_that_is_taken_is_said_at_the_name(sender: Caller, path: str) -> None:
    await use(sender, path)
    await sender.post(f"{path}/message", data=MESSAGE)
    await sender.post(f"{path}/sending", data={**SENDING, "name": "spring"})
    shown = await text_of(sender, f"{path}/sending")
    taken = "There is a campaign with this name already. Choose another name."
    assert f'id="e-name">{taken}</span>' in shown and shown.count(taken) == 1
    assert '<a href="#f-name">Please correct: Name of the campaign</a>' in shown


async def test_real_rows_are_leafed_through_in_their_languages(sender: Caller, path: str, pool: Pool) -> None:
    await add_template(pool, "order", "de", body("Hallo {{1}}, Ihre Bestellung {{2}}"))
    await use(sender, path)
    assert "<option selected>lang</option>" in await text_of(sender, f"{path}/message")
    saved = await sender.post(f"{path}/message", data={**MESSAGE, "language_column": "lang", "go": "row:1"})
    assert saved.headers["Location"] == f"{path}/message?row=1"
    assert "Hallo Cy, Ihre Bestellung B2" in await text_of(sender, f"{path}/message?row=1")
    assert "Hello Bo, your order B1" in await text_of(sender, f"{path}/message?row=0")
    assert "Hallo Cy" in await text_of(sender, f"{path}/message?row=99")  # the last good row


async def test_words_for_languages_are_guessed_and_unknown_ones_are_given_a_language(
    sender: Caller, pool: Pool
) -> None:
    await add_template(pool, "order", "de", body("Hallo {{1}}, Ihre Bestellung {{2}}"))
    words = ("Deutsch", "english", "Bayrisch", "Bayrisch")
    rows = "".join(f"+{PHONE + 70 + at},N{at},B{at},{word}\n" for at, word in enumerate(words))
    form = aiohttp.FormData()
    form.add_field("audience", f"phone,name,order,lang\n{rows}".encode(), filename="a.csv")
    path = (await sender.post("/new", data=form)).headers["Location"]
    await sender.post(path, data={"phone_column": "phone"})
    await use(sender, path)
    saved = {**MESSAGE, "language_column": "lang", "go": ""}
    await sender.post(f"{path}/message", data=saved)
    shown = await text_of(sender, f"{path}/message")
    assert '<tr class="warn"><th scope="row">Bayrisch</th><td class="number">2</td>' in shown
    assert shown.index("Bayrisch</th>") < shown.index("Deutsch</th>")
    assert "Hello N2" in await text_of(sender, f"{path}/message?row=2")

    await sender.post(
        f"{path}/message", data={**saved, "language_value.0": "Bayrisch", "language_of.0": "de"}
    )
    assert '<tr class="warn">' not in await text_of(sender, f"{path}/message")
    assert "Hallo N2" in await text_of(sender, f"{path}/message?row=2")
    await sender.post(f"{path}/message", data={**MESSAGE, "language_column": "lang"})  # keeps what was given
    await sender.post(f"{path}/sending", data=SENDING)
    options = await pool.fetchval("SELECT options FROM campaigns WHERE name = 'autumn'")
    assert options["language_map"] == ["Bayrisch=de"]


async def test_variants_share_the_people(sender: Caller, path: str, pool: Pool) -> None:
    await add_template(pool, "order_short", "en", body("{{1}}: {{2}}"))
    await use(sender, path)
    chosen = {
        **MESSAGE,
        "variant": "order_short",
        "weight.order": "1",
        "weight.order_short": "3",
        "experiment": "tone",
    }
    assert (await sender.post(f"{path}/message", data=chosen)).headers["Location"] == f"{path}/sending"
    await sender.post(f"{path}/sending", data=SENDING)
    options = await pool.fetchval("SELECT options FROM campaigns WHERE name = 'autumn'")
    assert options["variant"] == ["order=order:1", "order_short=order_short:3"]
    assert options["experiment"] == "tone"


async def test_another_template_forgets_what_filled_the_former_one(
    sender: Caller, path: str, pool: Pool
) -> None:
    await add_template(pool, "hello", "en", body("Hello {{1}}"))
    await use(sender, path)
    await sender.post(f"{path}/message", data={**MESSAGE, "language_column": "lang"})
    await use(sender, path, "hello en")
    await sender.post(
        f"{path}/message", data={"source.1": "text", "text.1": "you", "language": "en", "go": "next"}
    )
    await sender.post(f"{path}/sending", data=SENDING)
    options = await pool.fetchval("SELECT options FROM campaigns WHERE name = 'autumn'")
    assert (options["template"], options["param"]) == ("hello", ["1:=you"])
    assert "language_column" not in options


async def test_a_template_that_is_not_approved_cannot_be_chosen(
    sender: Caller, path: str, pool: Pool
) -> None:
    await pool.execute("UPDATE templates SET status = 'PENDING'")
    assert "has not approved it" in await text_of(sender, f"{path}/message")
    assert (await sender.post(f"{path}/template", data={"template": "order en"})).status == 422


async def test_a_picture_is_uploaded_shown_and_outlives_the_list(
    sender: Caller, path: str, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await add_template(pool, "picture", "en", {"type": "HEADER", "format": "IMAGE"}, body("Hi {{1}}"))
    await use(sender, path, "picture en")
    filled = {"source.1": "column:name", "language": "en", "header": "file", "go": "next"}
    missing = await sender.post(f"{path}/message", data=filled)
    assert missing.status == 422 and "needs one image in its header" in missing.text
    form = aiohttp.FormData()
    form.add_field("header_file", PNG, filename="spring.png")
    assert (await sender.post(f"{path}/header", data=form)).status == 303
    assert "spring.png" in await text_of(sender, f"{path}/message")
    assert (await sender.post(f"{path}/message", data=filled)).headers["Location"] == f"{path}/sending"
    sent: list[tuple[str, bytes, str]] = []

    @asynccontextmanager
    async def service() -> AsyncIterator[Any]:
        async def upload(number: str, file: Path, mime_type: str) -> str:
            sent.append((number, content_of(file), mime_type))
            return "media-1"

        yield upload

    monkeypatch.setattr(upload_planning, "uploads_with", lambda _: service)
    await sender.post(f"{path}/sending", data=SENDING)
    kept = Path(await pool.fetchval("SELECT path FROM campaign_files"))
    assert kept.name == "spring.png" and kept.is_relative_to(tmp_path / "header-files")
    assert sent == [(NUMBER, PNG, "image/png")] and content_of(kept) == PNG
    assert not any((tmp_path / "uploads").iterdir())
    monkeypatch.setattr(actions, "uploads_with", lambda _: service)
    test = await sender.post("/campaigns/autumn/test", data={"phones": f"+{PHONE}"})
    assert test.headers["Location"] == "/campaigns/autumn%2Ftest-1"


async def test_a_test_of_a_row_that_is_no_number_is_refused(sender: Caller) -> None:
    refused = await sender.post("/campaigns/spring/test", data={"row": "abc", "phones": f"+{PHONE}"})
    assert refused.status == 422 and "is not a number" in refused.text


async def test_a_long_check_shows_how_far_it_is_and_goes_on_alone(
    sender: Caller, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()
    create = new_sending.create_from_upload

    async def slow(*positional: Any, **named: Any) -> dict[str, Any]:
        await go_on.wait()
        return await create(*positional, **named)

    monkeypatch.setattr(new_sending, "create_from_upload", slow)
    monkeypatch.setattr(new_sending, "WAIT_S", 0.0)
    await use(sender, path)
    await sender.post(f"{path}/message", data=MESSAGE)
    await sender.post(f"{path}/sending", data=SENDING)
    waiting = await text_of(sender, f"{path}/sending")
    assert "Your list is being worked on" in waiting and "refresh" in waiting
    go_on.set()
    while (reply := await sender.get(f"{path}/sending")).status == 200:
        assert "being worked on" in reply.text
    assert reply.headers["Location"] == "/campaigns/autumn/launch"


async def test_what_forbids_a_start_is_said_on_the_page(sender: Caller, pool: Pool) -> None:
    await pool.execute("UPDATE numbers SET stopped = true, suspended_reason = 'the account is blocked'")
    refused = await sender.post("/campaigns/spring/launch")
    assert refused.status == 409 and "every number of the campaign" in refused.text
    assert "10 people get the message order" in refused.text


async def test_one_job_for_each_key_and_its_result_is_kept() -> None:
    runs: list[str] = []
    go_on = asyncio.Event()

    async def work(progress: Any) -> str:
        runs.append("begun")
        await go_on.wait()
        return "/there"

    several = jobs.Jobs()
    job = several.begin("a", work)
    assert not await job.wait(0.0)
    assert several.begin("a", work) is job and several.running("a") is job
    go_on.set()
    assert await job.wait(60.0)
    assert (runs, several.running("a"), several.find("a"), job.value) == (["begun"], None, job, "/there")


async def test_a_cell_cannot_send_the_list_itself(sender: Caller, pool: Pool) -> None:
    await add_template(pool, "letter", "en", {"type": "HEADER", "format": "DOCUMENT"}, body("Hi {{1}}"))
    form = aiohttp.FormData()
    content = f"phone,name,file\n+{PHONE + 70},Bo,audience.txt\n+{PHONE + 71},Cy,https://x.example/a.pdf\n"
    form.add_field("audience", content.encode(), filename="people.txt")
    path = str((await sender.post("/new", data=form)).headers["Location"])
    await sender.post(path, data={"phone_column": "phone"})
    await use(sender, path, "letter en")
    filled = {
        "source.1": "column:name",
        "language": "en",
        "header": "column",
        "header_column": "file",
        "go": "next",
    }
    assert (await sender.post(f"{path}/message", data=filled)).headers["Location"] == f"{path}/sending"
    await sender.post(f"{path}/sending", data=SENDING)
    assert await pool.fetchrow("SELECT recipients, rejected FROM campaigns WHERE name = 'autumn'") == (1, 1)


async def test_a_plan_that_takes_long_holds_no_page_up(
    sender: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on = asyncio.Event()
    read = launch.stored_plan

    async def slow(*positional: Any) -> dict[str, Any]:
        await go_on.wait()
        return await read(*positional)

    monkeypatch.setattr(launch, "stored_plan", slow)
    monkeypatch.setattr(launch, "WAIT_S", 0.0)
    waiting = await text_of(sender, "/campaigns/spring/launch")
    assert (
        "10 people get the message order" in waiting
        and "are being computed" in waiting
        and "refresh" in waiting
    )
    go_on.set()
    monkeypatch.setattr(launch, "WAIT_S", 60.0)
    assert "are being computed" not in await text_of(sender, "/campaigns/spring/launch")


async def test_who_has_no_campaign_yet_is_led_to_the_first(
    pool: Pool, database_url: str, tmp_path: Path
) -> None:
    async with console(pool, database_url, tmp_path) as url:
        assert '<a class="button" href="/new">New campaign</a>' in await text_of(Caller(url), "/campaigns")
