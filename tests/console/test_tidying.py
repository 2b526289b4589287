"""What was uploaded goes once nothing needs it any more: each hour, while the console runs."""

import os
import time
from hashlib import sha256
from pathlib import Path
from typing import cast

import pytest

from drumbeat.campaigns.console import server
from drumbeat.campaigns.console.new.header_uploads import KEPT, remove_unneeded
from drumbeat.campaigns.console.web.uploads import KEPT_S, NAME_FILE
from drumbeat.engine.store.database import Pool
from tests.console.conftest import console
from tests.kit.waiting import until


def make_old(directory: Path) -> None:
    os.utime(directory, (time.time() - KEPT_S - 60,) * 2)


def uploaded(home: Path, digit: str) -> Path:
    directory = home / "uploads" / (digit * 32)
    directory.mkdir(parents=True)
    (directory / NAME_FILE).write_text("people.csv")
    return directory


async def test_old_uploads_go_at_the_start_and_again_later(
    pool: Pool, database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "TIDY_S", 0.02)
    old, new = uploaded(tmp_path, "a"), uploaded(tmp_path, "b")
    make_old(old)
    async with console(pool, database_url, tmp_path):
        await until(lambda: not old.exists())
        assert new.exists()
        make_old(new)
        await until(lambda: not new.exists())


def header_file(home: Path, content: bytes) -> Path:
    directory = home / KEPT / sha256(content).hexdigest()
    directory.mkdir(parents=True)
    (directory / "cat.png").write_bytes(content)
    return directory


async def test_header_files_stay_as_long_as_a_campaign_may_need_them(
    pool: Pool, campaign: str, tmp_path: Path
) -> None:
    shown, pruned, planned, nobodys = (header_file(tmp_path, bytes([number])) for number in range(4))
    for directory in (shown, pruned, nobodys):
        make_old(directory)
    await pool.execute(
        "INSERT INTO campaigns OVERRIDING SYSTEM VALUE SELECT (jsonb_populate_record(campaigns, jsonb_build_object("
        " 'campaign_id', campaign_id + 1, 'name', 'pruned', 'content_hash', 'other'))).* FROM campaigns"
    )  # without ranges, as a campaign whose recipients were pruned
    for name, directory in ((campaign, shown), ("pruned", pruned)):
        await pool.execute(
            "INSERT INTO campaign_files (campaign_id, reference, path, sha256, mime_type)"
            " SELECT campaign_id, 'cat.png', $2, $3, 'image/png' FROM campaigns WHERE name = $1",
            name,
            str(directory / "cat.png"),
            directory.name,
        )
    await remove_unneeded(pool, tmp_path)
    assert sorted((tmp_path / KEPT).iterdir()) == sorted([shown, planned])


async def test_a_header_file_that_a_plan_takes_up_meanwhile_stays(tmp_path: Path) -> None:
    taken = header_file(tmp_path, b"cat")
    make_old(taken)

    class Asked:
        async def fetch(self, *_: object) -> list[object]:
            os.utime(taken)  # as `with_kept_header_file` does
            return []

    await remove_unneeded(cast(Pool, Asked()), tmp_path)
    assert taken.exists()
