"""Every command of the how-tos runs as it stands, in the order of its page."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.docs.conftest import Before
from tests.docs.reader import Reader, blocks, lines
from tests.docs.test_links import ROOT

HOW_TOS = sorted((ROOT / "docs/how-to").glob("*.md"))
BEFORE = {
    "prepare-an-audience.md": Before(sent=("spring",), emulator=("--fault", "refusal:1,count=1,code=131049")),
    "see-what-happened.md": Before(sent=("spring",), emulator=("--fault", "refusal:1,count=1,code=131026")),
    "schedule-and-steer.md": Before(("spring", "summer")),
    "send-in-several-languages.md": Before(drafts=()),
}
# Their commands run in tests of their own.
ELSEWHERE = {"measure-this-machine.md": "tests/benchmarks/test_command.py"}


@pytest.mark.long
@pytest.mark.parametrize("page", [page.name for page in HOW_TOS if page.name not in ELSEWHERE])
def test_every_command_of_a_page_runs(page: str, reader: Callable[[Before], Reader]) -> None:
    follower = reader(BEFORE.get(page, Before()))
    assert follower.follow((ROOT / "docs/how-to" / page).read_text("utf-8"))


@pytest.mark.parametrize("page", ELSEWHERE)
def test_the_other_test_of_a_page_exists(page: str) -> None:
    assert (ROOT / "docs/how-to" / page).exists()
    assert (ROOT / ELSEWHERE[page]).exists()


def test_blocks_and_lines() -> None:
    text = "Text\n\n    drumbeat a \\\n        --b   # why\n\n    echo 1\n\nMore\n\n```sh\n# c\ndrumbeat d\n```\n"
    assert [lines(block) for block in blocks(text)] == [["drumbeat a --b", "echo 1"], ["drumbeat d"]]
