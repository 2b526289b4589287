"""The example of the client's page runs as it stands."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

from drumbeat.emulator.config import EmulatorConfig
from drumbeat.emulator.testing import running_emulator
from drumbeat.engine import api
from drumbeat.engine.core import message_types

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/reference/client.md").read_text("utf-8")


async def test_the_example_runs() -> None:
    (example,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    async with running_emulator(EmulatorConfig(port=0)) as emulator:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-c", example, emulator.url, "emulator-token"),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
        )
        stdout, stderr = await process.communicate()
    assert (process.returncode, stderr) == (0, b"")
    lines = stdout.decode().splitlines()
    assert "order_shipped en_US UTILITY" in lines
    assert lines[-2].startswith("accepted as wamid.")
    assert lines[-1].startswith("131047 ")


@pytest.mark.parametrize(
    "name", ["messages", "media", "templates", "numbers", "profiles", "analytics", "subscriptions"]
)
async def test_every_method_of_the_page_exists(name: str) -> None:
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| `{name}` |"))
    named = set(re.findall(r"`(\w+)\(", row))
    async with api.Service("http://x", "t") as service:
        part = getattr(service, name)
        assert named == {method for method in dir(part) if not method.startswith("_")}


def test_every_message_type_is_on_the_page() -> None:
    parts = {"Contact", "ListRow", "ListSection", "Message", "ReplyButton", "FREE_FORM_TYPES"}
    types = {name for name in message_types.__all__ if name[0].isupper()} - parts
    assert {name for name in types if f"`{name}`" not in PAGE} == set()
