"""What the documents say exists: files, anchors, commands with their options, and settings."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from typer import Context
from typer.main import get_group

from drumbeat.campaigns.cli.main import DEBUG_VARIABLE, app
from drumbeat.engine.process.settings import PREFIX, SECRETS, Settings
from drumbeat.engine.process.telemetry import LEVEL_VARIABLE
from tests.docs.markdown import anchors, broken_links, commands, settings

ROOT = Path(__file__).parents[2]
FOLDERS = (".", "docs", "benchmarks", "emulator")
PAGES = sorted(
    {page for folder in FOLDERS for page in (ROOT / folder).glob("*.md" if folder == "." else "**/*.md")}
)
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
GROUPS = get_group(app).list_commands(Context(get_group(app)))

KNOWN_SETTINGS = {
    *(PREFIX + name.upper() for name in Settings.model_fields),
    *(f"{PREFIX}{name.upper()}_FILE" for name in SECRETS),
    LEVEL_VARIABLE,
    DEBUG_VARIABLE,
}


def wrong(words: list[str]) -> str:
    """What of a command line does not exist; empty if all of it does. Values and arguments are not checked."""
    command: Any = get_group(app)
    left = iter(words)
    for word in left:
        if word.startswith("--"):
            name, _, value = word.partition("=")
            if (option := _option(command, name)) is None:
                return f"option {name}"
            if not (option.is_flag or value):
                next(left, None)
        elif hasattr(command, "list_commands") and not word.isupper():  # COMMAND stands for any
            if (inner := command.get_command(Context(command), word)) is None:
                return f"command {word}"
            command = inner
    return ""


def _option(command: Any, name: str) -> Any:
    known = [*command.params, command.get_help_option(Context(command))]
    return next((option for option in known if name in option.opts), None)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_relative_link_and_anchor_resolves(page: Path) -> None:
    assert broken_links(page, page.read_text("utf-8")) == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_command_exists_with_its_options(page: Path) -> None:
    named = list(commands(page.read_text("utf-8"), GROUPS))
    assert [f"drumbeat {' '.join(words)}: {what}" for words in named if (what := wrong(words))] == []


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_every_setting_exists(page: Path) -> None:
    assert settings(page.read_text("utf-8")) - KNOWN_SETTINGS == set()


def test_the_reference_lists_every_setting() -> None:
    listed = settings((ROOT / "docs/reference/settings.md").read_text("utf-8"))
    assert {name for name in KNOWN_SETTINGS if not name.endswith("_FILE")} <= listed


def test_the_reference_lists_every_command() -> None:
    text = (ROOT / "docs/reference/commands.md").read_text("utf-8")
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    listed = {
        " ".join(word for word in words if word.islower()) for row in rows for words in commands(row, GROUPS)
    }
    assert listed >= set(_leaves(get_group(app)))


def _leaves(group: Any, path: tuple[str, ...] = ()) -> list[str]:
    if not hasattr(group, "list_commands"):
        return [" ".join(path)]
    context = Context(group)
    inner = [
        _leaves(group.get_command(context, name), (*path, name)) for name in group.list_commands(context)
    ]
    runs_itself = [" ".join(path)] if group.invoke_without_command else []
    return runs_itself + [leaf for leaves in inner for leaf in leaves]


def test_every_page_of_docs_is_in_its_index() -> None:
    index = (ROOT / "docs/README.md").read_text("utf-8")
    pages = [
        page.relative_to(ROOT / "docs").as_posix() for page in PAGES if page.is_relative_to(ROOT / "docs")
    ]
    assert [page for page in pages if page != "README.md" and f"]({page})" not in index] == []


@pytest.mark.parametrize(
    ("text", "broken"),
    [
        ("[a](README.md) [b](docs/) [c](#here)\n\n## Here", []),
        ("[a](https://service.example/nowhere)", []),
        ("[a](nowhere.md)", ["nowhere.md"]),
        ("[a](#there)\n\n## Here", ["#there"]),
        ("[a](README.md#no-such-heading)", ["README.md#no-such-heading"]),
        ("`[a](nowhere.md)`\n\n    [a](nowhere.md)\n", []),
    ],
)
def test_a_broken_link_is_found(text: str, broken: list[str]) -> None:
    assert broken_links(ROOT / "page.md", text) == broken


@pytest.mark.parametrize(
    ("text", "problems"),
    [
        ("    drumbeat campaign run spring --quiet   # --loud\n", [""]),
        ("`drumbeat campaing run`", ["command campaing"]),
        ("```\ndrumbeat campaign walk spring\n```", ["command walk"]),
        ("    drumbeat campaign create x \\\n        --colour red\n", ["option --colour"]),
        ('    pg_dump -d "$(drumbeat db link)" -f x\n', ["command link"]),
        ("    .venv/bin/drumbeat worker --threads 2 &\n", ["option --threads"]),
        ("`drumbeat --home x db url` and `drumbeat --home x db uri`", ["", "command uri"]),
        ("see `campaign settle` and `campaign settel --resend`", ["", "command settel"]),
        ("`worker --thread 2`, `worker` and `campaign`", ["option --thread"]),
        ("drumbeat walks, and so does campaigns/drumbeat", []),
    ],
)
def test_a_wrong_command_is_found(text: str, problems: list[str]) -> None:
    assert [wrong(words) for words in commands(text, GROUPS)] == problems


def test_anchors_are_those_of_code_hosts() -> None:
    text = "# One\n## `campaign run`, and --json\n## One\n\n    # no heading\n"
    assert anchors(text) == {"one", "campaign-run-and---json", "one-1"}


def test_a_setting_that_does_not_exist_is_found() -> None:
    assert settings("DRUMBEAT_HOME, DRUMBEAT_COLOUR and DRUMBEAT_…") - KNOWN_SETTINGS == {"DRUMBEAT_COLOUR"}


# Where a short path in ARCHITECTURE may begin.
BASES = ("", "engine", "engine/sending", "engine/store", "campaigns")
FOLDER = "api|testing|engine|campaigns|emulator|http_server|benchmarks|tests|requirements|core|store|sending|process|planning"


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_every_path_exists(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    paths = re.findall(rf"`((?:{FOLDER})/[\w./-]*|\w+\.py)`", text)
    assert paths
    assert [path for path in paths if not any((ROOT / base / path).exists() for base in BASES)] == []
