"""The texts of pages. A missing one is an error of the server, and only when somebody looks."""

import re
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from drumbeat.campaigns.console.web.language import LANGUAGES, code_texts, texts_of
from drumbeat.campaigns.texts import words_of
from drumbeat.engine.core.error_codes import ERROR_CODES, HTTP_STATUSES, UNLISTED

ROOT = Path(__file__).parents[2]
VIEWS = sorted((ROOT / "campaigns" / "console" / "views").glob("*.j2"))
SOURCES = [*VIEWS, *(path for name in ("campaigns", "engine/core") for path in (ROOT / name).rglob("*.py"))]
# What the service answers ends the key.
OF_SERVICE = re.compile(r"number\.(quality|tier)_|template_(status|reason)\.|spent\.category_")
LITERAL = re.compile(r"[\"']([\w.-]+)(?=[\"'{])")
NAMED = re.compile(r"\bt\(\s*[\"']([\w.-]+)[\"']\s*[,)]")


@pytest.mark.parametrize("view", VIEWS, ids=lambda path: path.name)
def test_every_text_that_a_view_names_exists(view: Path) -> None:
    named = set(NAMED.findall(view.read_text("utf-8")))
    assert named - set(texts_of(LANGUAGES[0]).words) == set()


def test_every_text_is_used() -> None:
    named = {""} | {word for path in SOURCES for word in LITERAL.findall(path.read_text("utf-8"))}
    texts = words_of("drumbeat.campaigns.console.texts", LANGUAGES[0])
    assert [key for key in texts if not OF_SERVICE.match(key) and not _is_named(key, named)] == []


def _is_named(key: str, named: set[str]) -> bool:
    """Whole or in parts, such as `"sending." ~ name ~ "_about"`. The text of a single thing goes with that of many."""
    key = key.removesuffix("_one")
    cuts = combinations_with_replacement(range(len(key) + 1), 2)
    return any({key[:first], key[first:last], key[last:]} <= named for first, last in cuts)


def test_every_code_is_explained_in_every_language() -> None:
    rows = [*ERROR_CODES.values(), *HTTP_STATUSES.values(), UNLISTED]
    english = {text for row in rows for text in (row.meaning, row.remedy)}
    for language in LANGUAGES[1:]:
        assert set(code_texts(language)) == english
    assert texts_of("de").of_code("check --param") == "prüfen, was die Platzhalter füllt"
