"""Every command of the fixed command line exists and has a help text. The error of a wrong command names the help."""

import os
import re
import subprocess
from collections.abc import Iterator
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from typer import Context
from typer.main import get_group

from drumbeat.campaigns.cli.main import app
from tests.cli.processes import COMMAND, ROOT, Drumbeat

FIXED = {
    "bench compare", "demo", "doctor", "health", "worker", "db url", "db migrate", "db wait", "db stop", "db prune",
    "numbers sync", "numbers list", "numbers limit", "numbers resume", "templates sync", "templates list", "templates show",
    "audience check", "audience rejected", "suppress add", "suppress remove", "suppress list", "suppress import",
    "suppress words list", "suppress words add", "suppress words remove",
    "campaign create", "campaign list", "campaign status", "campaign run", "campaign start", "campaign pause",
    "campaign resume", "campaign cancel", "campaign report", "campaign export", "campaign settle",
    "campaign retry", "campaign replies", "campaign watch", "person show", "person forget",
    "webhooks serve", "emulator serve", "notify test", "templates create", "templates delete", "media upload",
    "media get", "media delete", "numbers show", "numbers register", "profile show", "profile update", "analytics",
    "message send", "campaign approve", "campaign order",
    "console serve", "console user add", "console user list", "console user remove", "console user sign-out",
    "subscriptions add", "subscriptions list", "subscriptions show", "subscriptions remove",
    "console token add", "console token list", "console token remove",
}  # fmt: skip


def commands(group: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    context = Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if hasattr(command, "list_commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


ALL = dict(commands(get_group(app)))


def test_no_command_is_missing() -> None:
    assert ALL.keys() >= FIXED


@pytest.mark.parametrize("name", sorted(ALL))
def test_every_command_and_every_option_says_what_it_does(name: str) -> None:
    command = ALL[name]
    assert command.help
    for parameter in command.params:
        assert parameter.help, f"{name}: {parameter.name}"


@pytest.mark.parametrize("name", sorted(ALL))
def test_help_fits_a_terminal_of_80_columns(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No name is cut, no line of prose ends early, and what takes no value shows no type of one."""
    monkeypatch.setenv("COLUMNS", "80")
    with pytest.raises(SystemExit):
        ALL[name].main(["--help"], prog_name="drumbeat")
    printed = capsys.readouterr().out
    assert "\N{HORIZONTAL ELLIPSIS}" not in printed
    assert "<bool>" not in printed
    prose = printed.partition("\N{BOX DRAWINGS LIGHT ARC DOWN AND RIGHT}")[0].splitlines()
    for line, following in pairwise(prose):
        if line.strip() and (first := following.split()[:1]):
            assert len(f"{line.rstrip()} {first[0]}") > 79, line


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (("campaing",), "Did you mean 'campaign'? Try `drumbeat --help`."),
        (("campaign", "export", "x", "--state", "lost"), "'--state': 'lost' is not one of 'pending'"),
        (("campaign", "create", "x"), "Missing option '--language'"),
        (("campaign", "pause"), "name one campaign, or give --all"),
        (("campaign", "resume"), "name one campaign, or give --all"),
        (("campaign", "resume", "x", "--all"), "name one campaign, or give --all"),
        (("numbers", "limit", "1", "fast"), "is not a rate"),
        (("campaign", "settle", "x", "--resend", "--assume-sent"), "contradict each other"),
        (("campaign", "run", "x", "--max-failed", "some"), "--max-failed"),
        (("db", "prune", "--older-than", "1"), "--older-than"),
    ],
)
def test_a_usage_error_is_one_line_and_exit_2(drumbeat: Drumbeat, words: tuple[str, ...], part: str) -> None:
    done = drumbeat(*words)
    assert done.exit_code == 2
    assert part in done.complaint
    assert done.stdout == ""


@pytest.mark.parametrize("words", [("campaign", "status"), ("campaign", "report"), ("campaign", "pause")])
def test_an_argument_that_is_not_utf_8_is_named(drumbeat: Drumbeat, words: tuple[str, ...]) -> None:
    done = drumbeat(*words, "caf\udce9")
    assert done.exit_code == 2
    assert done.complaint == 'drumbeat: argument 3 is not UTF-8: "caf\\xe9"'
    assert done.stdout == ""


def test_a_path_may_be_no_utf_8(drumbeat: Drumbeat, tmp_path: Path) -> None:
    path = tmp_path / "caf\udce9.csv"
    path.write_text("phone,name\n+5511980000001,Ana\n")
    assert "1 good, 0 bad" in drumbeat.ok("audience", "check", path).stdout


@pytest.mark.parametrize(
    "words",
    [("audience", "check", "people.csv", "--quiet"), ("suppress", "list"), ("campaign", "create", "--help")],
)
def test_a_closed_stdout_ends_a_command_without_an_error(
    drumbeat: Drumbeat, tmp_path: Path, words: tuple[str, ...]
) -> None:
    (tmp_path / "people.csv").write_text("phone\n+5511980000001\n")
    settings = {f"DRUMBEAT_{name.upper()}": value for name, value in drumbeat.settings.items()}
    reading, writing = os.pipe()
    os.close(reading)
    with os.fdopen(writing, "wb") as nobody:
        done = subprocess.run(
            [*COMMAND, *words],
            stdout=nobody,
            stderr=subprocess.PIPE,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(ROOT), "XDG_RUNTIME_DIR": "", **settings},
        )
    assert (done.returncode, done.stderr) == (141, b"")


def test_the_version_is_printed_whatever_else_is_wrong(drumbeat: Drumbeat) -> None:
    done = drumbeat.ok("--version", base_url="no url at all")
    assert done.stdout == f"drumbeat {version('drumbeat')}\n"


def test_no_command_at_all_shows_the_help_and_is_a_usage_error(drumbeat: Drumbeat) -> None:
    assert "campaign" in drumbeat.ok("--help").stdout
    bare = drumbeat()
    assert bare.exit_code == 2
    assert "campaign" in bare.stdout


def test_the_help_names_every_exit_code_of_the_documents(drumbeat: Drumbeat) -> None:
    page = (ROOT / "docs/operate/exit-codes.md").read_text("utf-8")
    codes = re.findall(r"^\| (\d[\d, ]*) \|", page, re.MULTILINE)
    listed = {int(code) for cell in codes for code in cell.split(",")}
    assert len(listed) >= 9
    printed = drumbeat.ok("--help").stdout.partition("Exit codes")[2]
    assert {int(code) for code in re.findall(r"\d+", printed)} == listed


@pytest.mark.parametrize("words", [("campaign", "create"), ("worker",), ("db", "prune"), ("campaign",)])
def test_help_needs_no_settings(drumbeat: Drumbeat, words: tuple[str, ...]) -> None:
    wrong = {"base_url": "nonsense", "access_token_file": "/nowhere"}
    helped = drumbeat.ok(*words, "--help", **wrong)
    assert "Usage" in helped.stdout
    assert helped.stderr == ""
    assert "base_url" in drumbeat("campaign", "list", base_url="nonsense").complaint
