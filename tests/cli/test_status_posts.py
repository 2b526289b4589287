"""A program follows each message: every status of a campaign is posted to it, although the receiver is killed."""

import asyncio
from pathlib import Path

import pytest

from tests.cli.conftest import write_audience
from tests.cli.processes import ACCOUNT, SECRET, TOKEN, VERIFY, Drumbeat, serving
from tests.kit.ports import free_port
from tests.kit.waiting import until
from tests.notifications.sinks import Hook, hook

PEOPLE = 40


def followed(sink: Hook) -> set[tuple[str, str]]:
    statuses = [each for post in sink.posted for each in post.json["statuses"]]
    return {(each["phone"], each["status"]) for each in statuses}


@pytest.mark.long
async def test_every_status_of_a_campaign_is_posted_although_the_receiver_is_killed(
    tmp_path: Path, database_url: str
) -> None:
    async with hook() as sink:
        settings = {
            "home": str(tmp_path / "home"), "database_url": database_url, "access_token": TOKEN,
            "app_secret": SECRET, "verify_token": VERIFY, "waba_id": ACCOUNT,
            "status_url": sink.url, "status_secret": "a secret of ours",
        }  # fmt: skip
        await asyncio.to_thread(
            send, Drumbeat(tmp_path, settings), tmp_path, asyncio.get_running_loop(), sink
        )
    people = {phone for phone, _ in followed(sink)}
    assert len(people) == PEOPLE
    assert all((phone, "delivered") in followed(sink) for phone in people)


def send(drumbeat: Drumbeat, directory: Path, loop: asyncio.AbstractEventLoop, sink: Hook) -> None:
    port = str(free_port())
    receive = ("webhooks", "serve", "--port", port)
    emulator = ("emulator", "serve", "--port", "0", "--number", "2:1000", "--status-delay", "0.2",
                "--callback", f"http://127.0.0.1:{port}/webhook")  # fmt: skip
    with serving(drumbeat, *emulator) as url:
        drumbeat.settings["base_url"] = url
        for what in ("numbers", "templates"):
            drumbeat.ok(what, "sync")
        write_audience(directory / "people.csv", PEOPLE)
        drumbeat.ok("campaign", "create", "spring", "--template", "order_shipped", "--language", "pt_BR", "--number", "2",
                    "--audience", "people.csv", "--param", "name", "--param", "order")  # fmt: skip
        receiver = drumbeat.start(*receive, log=directory / "first.log")
        drumbeat.ok("campaign", "run", "spring", "--quiet")
        wait(loop, lambda: bool(sink.posted))
        receiver.kill()
        receiver.wait()
        with serving(drumbeat, *receive):
            wait(loop, lambda: sum(status == "delivered" for _, status in followed(sink)) == PEOPLE)
    drumbeat.close()


def wait(loop: asyncio.AbstractEventLoop, holds: object) -> None:
    asyncio.run_coroutine_threadsafe(until(holds), loop).result()  # type: ignore[arg-type]
