"""The example script sends once however often it runs, and the page names every method of the interface."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from drumbeat.api import Drumbeat, open_drumbeat
from drumbeat.engine.errors import ConfigurationError, TryLater
from tests.cli.conftest import drumbeat, write_audience
from tests.cli.processes import Drumbeat as Command
from tests.cli.processes import Service, serving
from tests.docs.conftest import NUMBER
from tests.docs.test_links import ROOT

__all__ = ["drumbeat"]

EXAMPLES = ROOT / "docs" / "examples"


def example(command: Command, service: str) -> subprocess.CompletedProcess[str]:
    settings = {f"DRUMBEAT_{name.upper()}": value for name, value in command.settings.items()}
    return subprocess.run(
        [sys.executable, EXAMPLES / "daily_orders.py", EXAMPLES / "orders.toml", "people.csv"],
        cwd=command.directory,
        env={**os.environ, **settings, "DRUMBEAT_BASE_URL": service, "DRUMBEAT_LOG_LEVEL": "error"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_example_sends_once_and_names_who_failed(drumbeat: Command) -> None:
    people = write_audience(drumbeat.directory / "people.csv", 10)
    people.write_text(people.read_text().replace("phone,name,order", "phone,first_name,order"))
    options = ("--port", "0", "--number", f"{NUMBER}:1000", "--fault", "refusal:1,count=1,code=131049")
    with serving(drumbeat, "emulator", "serve", *options) as url:
        drumbeat.ok("numbers", "sync", base_url=url)
        drumbeat.ok("templates", "sync", base_url=url)
        done = example(drumbeat, url)
        # One of ten failed, more than the manifest's 5%.
        assert (done.returncode, "more than the limit of 5%" in done.stderr) == (3, True), done.stderr
        again = example(drumbeat, url)
        assert again.returncode == 3
        assert len(Service(url).recipients()) == len(set(Service(url).recipients())) == 9
        command_line = drumbeat.ok("campaign", "list", "--json").json
    (campaign,) = command_line["campaigns"]
    assert (campaign["recipients"], campaign["state"]) == (10, "finished")


async def test_what_the_methods_return_and_raise(drumbeat: Command) -> None:
    write_audience(drumbeat.directory / "people.csv", 10)
    manifest = drumbeat.directory / "spring.toml"
    manifest.write_text((EXAMPLES / "orders.toml").read_text().replace('"first_name", ', '"name", '))
    options = ("--port", "0", "--number", f"{NUMBER}:1000")
    with serving(drumbeat, "emulator", "serve", *options) as url:
        for words in (("numbers", "sync"), ("templates", "sync")):
            drumbeat.ok(*words, base_url=url)
        settings = {**drumbeat.settings, "base_url": url}
        async with open_drumbeat(**settings) as api:
            named = {"name": "spring", "audience": str(drumbeat.directory / "people.csv"), "default": []}
            assert not (await api.apply(manifest, **named)).unchanged
            assert (await api.apply(manifest, **named)).unchanged
            assert (await api.edit("spring", window="09:00-20:00")).changes[0].effect == "applied"
            assert (await api.edit("spring", unset=["window"])).changes[0].effect == "applied"
            await api.clone("spring", "summer", external_id="crm-7")
            assert (await api.delete("external:crm-7")).name == "summer"
            for act in (api.start, api.pause, api.resume):
                assert (await act("spring")).name == "spring"
            result = await api.run("spring")
            result.require_complete()
            assert (result.status.state, (await api.status("spring")).state) == ("finished", "finished")
            found = [recipient async for recipient in api.recipients("spring")]
            assert {recipient.state for recipient in found} == {"accepted"}
            assert (await api.report("spring")).counts_add_up
            assert [campaign.name for campaign in await api.campaigns()] == ["spring"]
            with pytest.raises(ConfigurationError, match='no campaign "autumn"'):
                await api.cancel("autumn")
            with pytest.raises(ConfigurationError, match="window 'always' cannot be read"):
                await api.apply(manifest, **named, window="always")
            await api.clone("spring", "later", start_at=datetime(2190, 1, 1, tzinfo=UTC))
            with pytest.raises(TryLater, match="starts at 2190"):
                await api.run("later")


def test_the_reference_names_every_method() -> None:
    methods = {
        name for name, _ in inspect.getmembers(Drumbeat, inspect.isfunction) if not name.startswith("_")
    }
    page = (ROOT / "docs/reference/python.md").read_text("utf-8")
    assert methods <= set(re.findall(r"^### `(\w+)`", page, re.MULTILINE))
