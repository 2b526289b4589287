"""A page of an error says what happened and what to do, in the reader's language, and leads somewhere useful."""

from pathlib import Path

import pytest

from drumbeat.campaigns.console.web.problem_page import shown_code
from drumbeat.campaigns.console.web.problems import MESSAGES, Problem
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.sentences import sentence
from drumbeat.engine.store.database import Pool
from tests.console.conftest import Caller, console
from tests.console.plain_browser import browser_of

GERMAN = {"Accept-Language": "de"}


@pytest.mark.parametrize(
    ("address", "status", "says", "leads_to"),
    [
        ("/nothing", 404, "Unter dieser Adresse gibt es nichts.", "/campaigns"),
        (f"/new/{'a' * 32}", 404, "Diese Datei ist nicht mehr gespeichert.", "/new"),
        (f"/suppression/import/{'a' * 32}", 404, "laden Sie die Datei noch einmal hoch.", "/suppression"),
        ("/campaigns/nobody", 404, "<p>Es gibt keine Kampagne „nobody“.</p>", "/campaigns"),
        ("/people/rubbish", 422, "<p>Die Telefonnummer „rubbish“ ist nicht lesbar: ", "/people"),
    ],
)
async def test_it_says_what_to_do(url: str, address: str, status: int, says: str, leads_to: str) -> None:
    reply = await Caller(url).get(address, headers=GERMAN)
    assert reply.status == status
    assert "drumbeat campaign list" not in reply.text
    assert says in reply.text and f'class="button quiet" href="{leads_to}"' in reply.text


async def test_who_may_not_see_a_page_is_not_led_there_again(callers: dict[Role, Caller], url: str) -> None:
    reply = await callers[Role.LOOK].get("/users")
    assert reply.status == 403 and "Ask somebody who manages users" in reply.text
    assert 'class="button quiet" href="/users"' not in reply.text


async def test_what_is_too_large_is_said_with_its_limit(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    async with console(pool, database_url, tmp_path, console_upload_mib=1) as url:
        reply = await (await browser_of(url)).upload("/suppression/import", b"x" * (2 << 20))
    assert reply.status == 413
    assert "That is too large." in reply.text and "The file is larger than 1 MiB." in reply.text


def test_words_of_a_code_stand_for_what_they_are_about() -> None:
    unknown = Problem(404, "not_found", "there is no such question")
    assert shown_code("/campaigns/spring/ask/what", unknown) == ""
    assert shown_code("/campaigns/x", Problem(404, "not_found", MESSAGES["not_found"])) == "not_found"
    assert shown_code("/new/x/rows", unknown) == "upload_gone"


@pytest.mark.parametrize(
    ("text", "shown"),
    [("too large", "Too large."), ("Is it?", "Is it?"), ("the list: 5", "The list: 5.")],
)
def test_an_error_is_shown_as_a_sentence(text: str, shown: str) -> None:
    assert sentence(text) == shown
