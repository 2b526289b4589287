"""Campaigns whose names hold what addresses and files give a meaning to."""

import re
from urllib.parse import quote

import pytest

from drumbeat.campaigns.console.web.operations import PREFIX
from tests.console.conftest import Caller
from tests.console.test_interface import SPEC, form

ODD = [
    "a/../b",
    "../../etc/passwd",
    "...",
    "a%2Fb",
    "a?b#c",
    "a&b=c",
    'a"b<i>',
    "-rf *",
    "50 %",
    "C:\\x",
]


@pytest.mark.parametrize("name", ODD)
async def test_any_name_has_its_pages_and_its_files(manager: Caller, name: str) -> None:
    made = await manager.post(f"{PREFIX}/campaigns", data=form({**SPEC, "name": name}))
    assert made.status == 200, made.text
    path = f"/campaigns/{quote(name, safe='')}"
    assert (await manager.get(f"{PREFIX}{path}")).body["name"] == name
    links = re.findall(r'href="(/campaigns/[^"?#]*)"', (await manager.get("/campaigns")).text)
    assert path in links
    for page in ("", "/results", "/recipients", "/edit", "/launch", "/message", "/replies"):
        assert (await manager.get(path + page)).status == 200, page
    for file in ("/export", "/report.html"):
        reply = await manager.get(path + file)
        given = re.search(r'filename="([^"]*)"', reply.headers["Content-Disposition"])
        assert reply.status == 200 and given is not None
        assert not re.search(r"[/\\\\:*?<>|]", given[1]) and given[1][0] not in ".-"
    assert (await manager("DELETE", f"{PREFIX}{path}")).status == 200


@pytest.mark.parametrize("name", [".", ".."])
async def test_a_step_of_a_path_is_refused_in_words(manager: Caller, name: str) -> None:
    made = await manager.post(f"{PREFIX}/campaigns", data=form({**SPEC, "name": name}))
    assert (made.status, made.body["key"]) == (422, "name") and "cannot be" in made.text
    clone = await manager.post(f"{PREFIX}/campaigns/spring/clones", json={"name": name, "changes": {}})
    assert (clone.status, clone.body["key"]) == (422, "name")
