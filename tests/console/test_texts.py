"""Every text that a view names exists: a missing one is an error of the server, and only when somebody looks."""

import re
from pathlib import Path

import pytest

from campaigns.console.language import LANGUAGES, texts_of

VIEWS = sorted((Path(__file__).parents[2] / "campaigns" / "console" / "views").glob("*.j2"))
NAMED = re.compile(r"\bt\(\s*[\"']([\w.-]+)[\"']\s*[,)]")


@pytest.mark.parametrize("view", VIEWS, ids=lambda path: path.name)
def test_every_text_that_a_view_names_exists(view: Path) -> None:
    named = set(NAMED.findall(view.read_text("utf-8")))
    assert named - set(texts_of(LANGUAGES[0]).words) == set()
