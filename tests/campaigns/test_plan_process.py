"""Planning as a process of its own: its memory does not grow with the audience, and SIGKILL costs nothing."""

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from pathlib import Path

import pytest

from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.errors import TryLater
from drumbeat.engine.store.database import Pool
from tests.campaigns.conftest import WriteAudience

ROOT = Path(__file__).parents[2]
PHONE = 5511960000000


def many_rows(path: Path, rows: int) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.write("phone,name,order\n")
        file.writelines(f'{PHONE + row},"João, da Silva",A-{row}\n' for row in range(rows))


async def planner(*arguments: str) -> Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        *("-m", "tests.campaigns.planner", *arguments),
        env={**os.environ, "PYTHONPATH": str(ROOT)},  # not in ROOT: rejects go to the working directory
        stdout=PIPE,
    )


async def planned(url: str, path: Path) -> tuple[int, int, int]:
    process = await planner(url, str(path))
    output, _ = await process.communicate()
    assert process.returncode == 0
    recipients, before_mib, after_mib = map(int, output.split())
    return recipients, before_mib, after_mib


async def test_memory_stays_far_below_the_audience(ready: str, tmp_path: Path) -> None:
    path = tmp_path / "audience.csv"
    many_rows(path, 200_000)

    recipients, before_mib, after_mib = await planned(ready, path)

    assert recipients == 200_000
    assert after_mib < before_mib + 100  # 200,000 rows as Python objects are more


@pytest.mark.slow
async def test_a_million_rows_stay_below_300_mib(ready: str, tmp_path: Path) -> None:
    path = tmp_path / "audience.csv"
    many_rows(path, 1_000_000)

    recipients, _, after_mib = await planned(ready, path)

    assert recipients == 1_000_000
    assert after_mib < 300


@pytest.mark.parametrize("stage", ["reading", "checking", "freezing"])
async def test_a_killed_process_leaves_nothing_in_the_way(
    stage: str, ready: str, pool: Pool, write_audience: WriteAudience
) -> None:
    path = write_audience(f"phone,name,order\n{PHONE},Ana,1\n{PHONE + 1},Bob,2\n")
    process = await planner(ready, str(path), stage)
    assert process.stdout is not None
    assert (await process.stdout.readline()).decode().strip() == stage
    spec = CampaignSpec(
        name="big", template="order", language="en", audience=path, number=["1001"], param=["name", "order"]
    )
    with pytest.raises(TryLater):
        await create_campaign(ready, spec)
    process.send_signal(signal.SIGKILL)
    await process.wait()
    assert not list(ROOT.glob("*.rejects.csv*"))

    created = await until_free(ready, spec)

    assert created == 2
    assert await pool.fetchval("SELECT count(*) FROM recipients") == 2
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 1


async def until_free(url: str, spec: CampaignSpec) -> int:
    """The server notices a killed session by its closed socket, a moment later."""
    async with asyncio.timeout(30):
        while True:
            try:
                return (await create_campaign(url, spec)).counts.recipients
            except TryLater:
                await asyncio.sleep(0.01)
