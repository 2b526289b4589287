"""What `doctor` says of the way of events, from the service through a proxy to the receiver."""

import asyncio
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from aiohttp import web

from drumbeat.campaigns.cli.webhooks import require_path
from drumbeat.engine.core.interface import API_VERSION
from drumbeat.engine.errors import UsageError
from tests.cli.processes import Drumbeat, serving, until

NUMBER = "106540352242922"


def lines(drumbeat: Drumbeat) -> list[str]:
    """The lines about events, and the exit code's: a warning is no failure."""
    done = drumbeat("doctor")
    assert done.exit_code == 0, done.stdout + done.stderr
    subjects = ("subscription:", "callback:", "events:", "set aside:")
    return [line for line in done.stdout.splitlines() if line.split(maxsplit=1)[1].startswith(subjects)]


@pytest.fixture
def callback(drumbeat: Drumbeat) -> Iterator[str]:
    """A receiver, and a service whose app posts the events of the account to it."""
    with serving(drumbeat, "webhooks", "serve", "--port", "0", "--path", "/drumbeat/webhook") as url:
        emulator = ("emulator", "serve", "--port", "0", "--number", f"{NUMBER}:80", "--callback", url)
        with serving(drumbeat, *emulator) as service:
            drumbeat.settings["base_url"] = service
            yield url


def test_the_whole_way_is_tried_and_nothing_is_left_of_it(drumbeat: Drumbeat, callback: str) -> None:
    found = lines(drumbeat)
    assert found[1:] == [
        f"ok    subscription: 1 app gets the events of account {drumbeat.settings['waba_id']}",
        f"ok    callback: {callback} answers its handshake",
        f"ok    callback: {callback} takes a signed event",
    ]
    assert found[0].startswith("ok    events: none came yet")
    assert lines(drumbeat) == found, "the posted event was not kept"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("app_secret", "answers a signed event with 403: its receiver has another app secret"),
        ("verify_token", "answers its handshake with 403: its receiver has another"),
    ],
)
def test_another_secret_is_named(drumbeat: Drumbeat, callback: str, setting: str, words: str) -> None:
    drumbeat.settings[setting] = "another"
    (warned,) = [line for line in lines(drumbeat) if line.startswith("warn")]
    assert words in warned
    reasons = {"app_secret": "wrong signature", "verify_token": "wrong verify token"}

    def refused() -> list[str]:
        return [line for line in lines(drumbeat) if "refused in the last hour" in line]

    assert reasons[setting] in until(refused, "the stored refusal")[0]


def test_an_app_that_is_not_subscribed_is_warned_of_and_subscribed(drumbeat: Drumbeat, callback: str) -> None:
    unsubscribe(drumbeat)
    (warned,) = [line for line in lines(drumbeat) if line.startswith("warn")]
    assert "no app gets the events" in warned and "drumbeat webhooks subscribe" in warned
    assert drumbeat.ok("webhooks", "subscribe", "--json").json["subscribed"] is True
    assert not [line for line in lines(drumbeat) if line.startswith("warn")]


def test_a_callback_that_is_away_is_named(drumbeat: Drumbeat) -> None:
    away = "http://127.0.0.1:9/webhook"
    options = ("emulator", "serve", "--port", "0", "--number", f"{NUMBER}:80", "--callback", away)
    with serving(drumbeat, *options) as service:
        drumbeat.settings["base_url"] = service
        (warned,) = [line for line in lines(drumbeat) if line.startswith("warn")]
    assert f"{away} does not answer from here" in warned


@asynccontextmanager
async def answering(status: int, location: str = "") -> AsyncIterator[str]:
    """A proxy before the receiver that answers everything so."""

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, headers={"Location": location} if location else None)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/hooks"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize(
    ("status", "location", "words"),
    [
        (404, "", "the path is another"),
        (301, "https://elsewhere.example/webhook", "the service follows none"),
        (502, "", "of the proxy before it"),
    ],
)
async def test_what_stands_before_the_receiver_is_told(
    drumbeat: Drumbeat, status: int, location: str, words: str
) -> None:
    async with answering(status, location) as url:
        options = ("emulator", "serve", "--port", "0", "--number", f"{NUMBER}:80", "--callback", url)

        def told() -> list[str]:
            with serving(drumbeat, *options) as service:
                drumbeat.settings["base_url"] = service
                return [line for line in lines(drumbeat) if line.startswith("warn")]

        warned = await asyncio.to_thread(told)
    assert len(warned) == 2 and all(words in line and str(status) in line for line in warned)


@pytest.mark.parametrize("path", ["webhook", "/", "", "/a b", "/metrics", "/livez/", "//", "/a?b"])
def test_a_path_that_cannot_be_used_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="cannot be used"):
        require_path(path)


def unsubscribe(drumbeat: Drumbeat) -> None:
    account, token = drumbeat.settings["waba_id"], drumbeat.settings["access_token"]
    request = urllib.request.Request(
        f"{drumbeat.settings['base_url']}/{API_VERSION}/{account}/subscribed_apps",
        headers={"Authorization": f"Bearer {token}"},
        method="DELETE",
    )
    with urllib.request.urlopen(request, timeout=30):
        pass
