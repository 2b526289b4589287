"""A client that others' generator makes from the document of /api/v1 works, and its types are right."""

from __future__ import annotations

import asyncio
import importlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from openapi_python_client import generate
from openapi_python_client.config import Config, ConfigFile, MetaType

from drumbeat.api import open_drumbeat
from drumbeat.campaigns.console.routes import document
from drumbeat.campaigns.console.server import running_console
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import add_token
from drumbeat.testing import NUMBER, DrumbeatHome
from tests.warm import ROOT

STORY = Path(__file__).parent / "generated" / "story.py"
ROWS = "phone,first_name,order\n" + "".join(f"+1415555010{n},Ada {n},{n}\n" for n in range(5))


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of the generated package `drumbeat_client`, which can be imported."""
    folder = tmp_path_factory.mktemp("generated")
    source = folder / "openapi.json"
    source.write_text(json.dumps(document()), "utf-8")
    given = ConfigFile(post_hooks=[])  # it would be formatted, for people
    config = Config.from_sources(given, MetaType.NONE, source, "utf-8", False, folder / "drumbeat_client")
    assert list(generate(config=config)) == [], "the generator doubts the document"
    (folder / "drumbeat_client" / "py.typed").touch()
    sys.path.insert(0, str(folder))
    try:
        yield folder
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] == "drumbeat_client"]:
            del sys.modules[name]


async def test_a_program_runs_a_campaign_with_it(package: Path, drumbeat_home: DrumbeatHome) -> None:
    client_module = importlib.import_module("drumbeat_client")
    story = importlib.import_module("tests.programs.generated.story")
    async with open_drumbeat() as drumbeat:
        await drumbeat.sync()
        token = await add_token(drumbeat.pool, "program", Role.MANAGE, actor="test")
        async with running_console(
            drumbeat.pool, drumbeat.url, drumbeat.settings, host="127.0.0.1", port=0, stop=asyncio.Event()
        ) as url:
            worker = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "drumbeat.campaigns.cli", "worker", "--quiet", cwd=ROOT
            )
            try:
                async with client_module.AuthenticatedClient(url, token) as client:
                    async with asyncio.timeout(60):
                        phones = await story.story(client, NUMBER, ROWS)
                    with pytest.raises(story.Refused) as refused:
                        await story.story(client, NUMBER, ROWS)
            finally:
                worker.terminate()
                await worker.wait()
    assert sorted(phones) == [*(f"+1415555010{n}" for n in range(5)), "+14155550199"]
    assert refused.value.code == "wrong_input"  # the name of the subscription is taken


@pytest.mark.long
def test_a_program_that_uses_it_has_right_types(package: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--strict",
        "--config-file=",
        "--cache-dir",
        str(package / "cache"),
    ]
    done = subprocess.run(
        [*command, str(STORY)], cwd=package, capture_output=True, text=True, timeout=300, check=False,
        env={"MYPYPATH": str(package), "PATH": ""},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
