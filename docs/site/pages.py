"""The pages of the site: all of docs/ and what they link to, under their paths in the repository.

The navigation is made from docs/README.md, so that one list of pages serves the readers of both. MkDocs finds
`on_config` and `on_files` by their names.
"""

import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
INDEX = ROOT / "docs" / "README.md"
EXAMPLES = ROOT / "docs" / "examples"
FOLDERS = ("docs", "benchmarks", "emulator")
PROJECT = ("README", "ARCHITECTURE", "CONTRIBUTING", "SECURITY", "CHANGELOG")
LINKED = ("LICENSE", "deploy/prometheus/alerts.yaml")  # files that pages link to, and that are no pages
SHOWN = {".md", ".png", ".csv", ".toml", ".py", ".sh"}

_SECTION = re.compile(r"^\*\*(?P<name>[^*]+)\*\*")
_PAGE = re.compile(r"^\* \[(?P<title>[^\]]+)\]\((?P<path>[^)#]+)\)")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Set the navigation: a section for each bold heading of the index, a page for each item below it."""
    config.nav = navigation(INDEX.read_text("utf-8"))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Replace the files of docs/ by all files of the site, named by their paths in the repository."""
    for found in [file for file in files if file.src_dir == config.docs_dir]:
        files.remove(found)
    for path in _paths():
        files.append(File(path, str(ROOT), config.site_dir, config.use_directory_urls))
    return files


def navigation(index: str) -> list[dict[str, Any]]:
    """Return the navigation as MkDocs takes it. `index`: the Markdown of docs/README.md."""
    sections: list[dict[str, Any]] = [{"Drumbeat": "README.md"}, {"Documentation": "docs/README.md"}]
    for line in index.splitlines():
        if section := _SECTION.match(line):
            sections.append({section["name"]: []})
        elif page := _PAGE.match(line):
            path = (INDEX.parent / page["path"]).resolve().relative_to(ROOT).as_posix()
            next(iter(sections[-1].values())).append({page["title"]: path})
    return sections


def _paths() -> list[str]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SHOWN]
    pages = [
        path.relative_to(ROOT).as_posix() for path in found if path.suffix != ".py" or path.parent == EXAMPLES
    ]
    return sorted([*pages, *LINKED, *(f"{name}.md" for name in PROJECT)])
