"""A campaign that the messaging limits stretch over days, and that is killed: nobody fails for it, nobody gets it twice."""

import asyncio
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from drumbeat.engine.core.limits.quota import COUNTED_S, GATHER_S
from drumbeat.engine.store.database import connect
from tests.acceptance.conftest import Scene
from tests.cli.processes import ACCOUNT, SECRET, TOKEN, VERIFY, Drumbeat, Service, serving, until

NEXT_DAY_S = COUNTED_S + GATHER_S + 60
RATE_PER_S = 3_000
CREATE = ("campaign", "create", "spring", "--template", "order_shipped", "--language", "pt_BR")


@pytest.fixture
def limited(tmp_path: Path, database_url: str, tiers: tuple[str, str]) -> Iterator[Scene]:
    """Numbers 1 and 2 with these tiers. Their quality is RED, so the limits do not grow by themselves."""
    settings = {
        "home": str(tmp_path / "home"),
        "database_url": database_url,
        "access_token": TOKEN,
        "app_secret": SECRET,
        "verify_token": VERIFY,
        "waba_id": ACCOUNT,
    }
    drumbeat = Drumbeat(tmp_path, settings)
    numbers = [
        word
        for pnid, tier in zip("12", tiers, strict=True)
        for word in ("--number", f"{pnid}:{RATE_PER_S}:{tier}")
    ]
    try:
        with (
            serving(drumbeat, "webhooks", "serve", "--port", "0") as callback,
            serving(
                drumbeat,
                "emulator",
                "serve",
                "--port",
                "0",
                *numbers,
                "--status-delay",
                "0",
                "--callback",
                callback,
            ) as url,
        ):
            service = Service(url)
            for pnid, tier in zip("12", tiers, strict=True):
                service.post("numbers", {"id": pnid, "quality_rating": "RED"})
                service.post("numbers", {"id": pnid, "messaging_limit_tier": tier})
            settings["base_url"] = url
            drumbeat.ok("numbers", "sync")
            drumbeat.ok("templates", "sync")
            yield Scene(drumbeat, service, callback.removesuffix("/webhook"))
    finally:
        drumbeat.close()


def pass_a_day(scene: Scene) -> None:
    """The clock of the service goes ahead, and what the database counted is so much older."""

    async def age() -> None:
        connection = await connect(scene.drumbeat.settings["database_url"])
        await connection.execute(
            "UPDATE quota_people SET counted_at = counted_at - make_interval(secs => $1)", NEXT_DAY_S
        )
        await connection.close()

    scene.service.post("clock", {"seconds": NEXT_DAY_S})
    asyncio.run(age())


def waits(scene: Scene) -> bool:
    return scene.status()["reason_code"] == "messaging_limit"


@pytest.mark.parametrize(
    ("people", "tiers", "people_per_day", "days"),
    [
        pytest.param(2_300, ("TIER_250", "TIER_1K"), 1_250, 2, id="2,300"),
        pytest.param(30_000, ("TIER_1K", "TIER_10K"), 11_000, 3, id="30,000", marks=pytest.mark.slow),
    ],
)
def test_a_campaign_takes_the_least_days_and_is_killed_on_all_but_the_last(
    limited: Scene, people: int, people_per_day: int, days: int
) -> None:
    scene = limited
    scene.create(people)
    for day in range(1, days):
        before, run = scene.service.accepted(), started(scene)
        until(lambda sent=before: scene.service.accepted() > sent + 300, "a part of the day is sent")
        run.send_signal(signal.SIGKILL)
        run.communicate()
        run = started(scene)
        until(lambda: waits(scene), "the limits are used up")
        assert scene.service.accepted() <= people_per_day * day
        run.terminate()
        run.communicate()
        pass_a_day(scene)
    last = scene.drumbeat("campaign", "run", "spring", "--quiet")
    assert last.exit_code in (0, 3), last.stderr  # 3: the kills left somebody in doubt
    scene.drumbeat.ok("campaign", "settle", "spring", "--resend", "--quiet")  # whom a kill left in doubt
    assert sorted(scene.service.recipients()) == sorted(str(5_511_980_000_000 + row) for row in range(people))
    assert scene.counts()["failed"] == scene.counts()["unknown"] == 0
    assert scene.state() == "finished"
    assert not any("130429" in number["errors"] for number in scene.service.get("overview")["numbers"])


def started(scene: Scene) -> subprocess.Popen[str]:
    return scene.drumbeat.start("campaign", "run", "spring", "--quiet")
