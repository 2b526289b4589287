"""The documents as a site: it is built without a warning, has every page, and loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_group

from docs.site.pages import navigation
from docs.site.reference import DOCS, commands, in_words, pages
from drumbeat.campaigns.cli.main import app
from tests.docs.test_links import PAGES, ROOT

BUILD = (sys.executable, "-m", "mkdocs", "build", "-f", "docs/site/mkdocs.yaml")
LOADED = re.compile(r"""<(?:script|img|link|iframe)\b[^>]*(?:src|href)=["']?(?:https?:)?//""")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("site")
    done = subprocess.run([*BUILD, "-d", directory], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return directory


def test_the_site_has_every_page(site: Path) -> None:
    built = {page.relative_to(site).as_posix() for page in site.rglob("*.html")}
    wanted = {page.relative_to(ROOT).with_suffix(".html").as_posix() for page in PAGES}
    assert {page.replace("README.html", "index.html") for page in wanted} <= built


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    assert [page for page in site.rglob("*.html") if LOADED.search(page.read_text("utf-8"))] == []
    assert LOADED.search('<script src="https://elsewhere.example/a.js">')


def test_a_section_of_the_index_is_a_section_of_the_navigation() -> None:
    index = "**How-tos**: one task each\n\n* [Check](how-to/a.md): a file\n* [Code](../ARCHITECTURE.md)\n"
    assert navigation(index)[2:] == [
        {"How-tos": [{"Check": "docs/how-to/a.md"}, {"Code": "ARCHITECTURE.md"}]}
    ]


@pytest.mark.parametrize("name", pages())
def test_a_page_that_is_made_from_code_is_up_to_date(name: str) -> None:
    assert (DOCS / name).read_text("utf-8") == pages()[name]


def test_the_options_page_has_every_command() -> None:
    text = pages()["reference/options.md"]
    words = [words.removeprefix("drumbeat ") for words, _ in commands(get_group(app))]
    assert [each for each in words if f"\n## {each}\n" not in text] == []
    assert "campaign create" in words


@pytest.mark.parametrize(
    ("codes", "text"), [([3, 10, 200, 201, 202], "3, 10, 200 to 202"), ([1, 2, 5], "1, 2, 5"), ([7], "7")]
)
def test_codes_in_words(codes: list[int], text: str) -> None:
    assert in_words(codes) == text
