"""The texts of pages. A missing one is an error of the server, and only when somebody looks."""

import re
from itertools import combinations_with_replacement
from pathlib import Path

import pytest

from drumbeat.campaigns.console.web.code_texts import code_meaning, code_remedy
from drumbeat.campaigns.console.web.language import LANGUAGES, texts_of
from drumbeat.campaigns.texts import words_of
from drumbeat.engine.core.error_codes import ERROR_CODES, meaning_of, remedy_of

ROOT = Path(__file__).parents[2]
VIEWS = sorted((ROOT / "campaigns" / "console" / "views").glob("*.j2"))
SOURCES = [*VIEWS, *(path for name in ("campaigns", "engine/core") for path in (ROOT / name).rglob("*.py"))]
# What the service answers ends the key, or a country.
OF_SERVICE = re.compile(
    r"number\.(quality|tier)_|template_(status|reason)\.|spent\.category_|code_(meaning|remedy)\.|sentence\.|reject\.phone_old_"
)
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


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_code_is_explained_in_every_language(language: str) -> None:
    texts = texts_of(language)
    for name in (*map(str, ERROR_CODES), "4711"):  # the last is not listed
        assert code_meaning(texts, name), name
        assert code_remedy(texts, name), name
    assert code_remedy(texts, "http_407") and "407" in code_meaning(texts, "http_407")
    assert (
        code_meaning(texts, "the connection was lost") == code_remedy(texts, "the connection was lost") == ""
    )


def test_a_page_explains_a_code_as_a_command_does() -> None:
    texts = texts_of(LANGUAGES[0])
    assert [name for name in map(str, ERROR_CODES) if code_meaning(texts, name) != meaning_of(name)] == []
    assert [name for name in map(str, ERROR_CODES) if code_remedy(texts, name) != remedy_of(name)] == []
    assert code_remedy(texts_of("de"), "132000") == "prüfen, was die Platzhalter füllt"
