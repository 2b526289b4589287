"""Local files in headers: each recipient gets the right one, ids are renewed, and a lost file stops a campaign."""

import hashlib
from pathlib import Path
from typing import Any

import pytest

from drumbeat.emulator.testing import Emulator
from drumbeat.engine.clock import SECOND_NS
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.core.template.compiler import compile_template
from drumbeat.engine.sending import header_file_renewal
from drumbeat.engine.sending.header_files import LEAST_VALID_S, RENEW_BEFORE_S, HeaderFiles
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.header_files import HeaderFile, Upload
from tests.sending.planted import FAST, SLOW, Planted, campaign_row, plant_campaign, plant_numbers
from tests.sending.running import HIGH_RATE_PER_S, assert_each_once, run_to_end, serving, started, until

PNG = b"\x89PNG\r\n\x1a\n"
LINK = "https://files.example/c.png"
PICTURED: dict[str, Any] = {
    "name": "catalogue",
    "language": "en_US",
    "definition": {
        "components": [
            {"type": "HEADER", "format": "IMAGE"},
            {"type": "BODY", "text": "{{1}}, the new catalogue is here."},
            {"type": "BUTTONS", "buttons": [{"type": "URL", "url": "https://lantern.example/c/{{1}}"}]},
        ]
    },
    "header_media": {"media_id": None, "link": None, "filename": None, "is_variable": True},
}
BOTH = (SLOW, FAST)


@pytest.fixture
def quick_renewal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(header_file_renewal, "PERIOD_S", 0.05)


@pytest.fixture
async def pictured(pool: Pool, tmp_path: Path) -> Planted:
    """Twelve people of two numbers, each with one of two files or a link in the header; nothing is uploaded."""
    pictures = [("a.png", PNG + b"a"), ("b.png", PNG + b"b")]
    async with pool.acquire() as connection:
        await plant_numbers(connection, **dict.fromkeys(BOTH, HIGH_RATE_PER_S))
        campaign = await plant_campaign(connection, recipients=12, range_size=2, numbers=BOTH)
        await connection.execute("UPDATE campaigns SET template = $1", PICTURED)
        await connection.execute(
            "UPDATE recipients SET variables = ARRAY[($1::text[])[1 + line % 3], 'Ana', line::text]",
            ["a.png", "b.png", LINK],
        )
        for name, content in pictures:
            (tmp_path / name).write_bytes(content)
            file = (name, str(tmp_path / name), hashlib.sha256(content).hexdigest(), "image/png")
            await connection.execute(
                "INSERT INTO campaign_files VALUES ($1, $2, $3, $4, $5)", campaign.campaign_id, *file
            )
    return campaign


async def assert_each_picture_is_right(pool: Pool, emulator: Emulator) -> None:
    """The header of each message is the file or link of its row, uploaded for the number that sent it."""
    named = {row["phone"]: row["variables"][0] for row in await pool.fetch("SELECT * FROM recipients")}
    uploads = await pool.fetch("SELECT * FROM uploads JOIN campaign_files USING (sha256, mime_type)")
    ids = {(row["phone_number_id"], row["reference"]): row["media_id"] for row in uploads}
    for row in emulator.service.ledger.rows(0, 100):
        header, _ = row["components"]
        reference = named[int(row["to"])]
        of_file = {"id": ids.get((row["phone_number_id"], reference))}
        wanted = {"link": LINK} if reference == LINK else of_file
        assert header["parameters"] == [{"type": "image", "image": wanted}]
    by_content = {item.content: item for item in emulator.service.media.items()}
    assert set(by_content) == {PNG + b"a", PNG + b"b"}


@pytest.mark.usefixtures("quick_renewal")
async def test_what_is_not_at_the_service_is_uploaded_for_each_number_before_anything_is_sent(
    pool: Pool, pictured: Planted
) -> None:
    async with serving(**dict.fromkeys(BOTH, HIGH_RATE_PER_S)) as emulator:
        ended = await run_to_end(pool, emulator, pictured, BOTH)
        assert ended.state == "finished"
        assert_each_once(emulator, pictured)
        await assert_each_picture_is_right(pool, emulator)
        assert len(emulator.service.media.items()) == 4


@pytest.mark.usefixtures("quick_renewal")
async def test_ids_are_renewed_before_they_end_while_the_campaign_goes_on(
    pool: Pool, pictured: Planted
) -> None:
    async with serving(**dict.fromkeys(BOTH, HIGH_RATE_PER_S)) as emulator:
        await run_to_end(pool, emulator, pictured, BOTH)
        before = {row["media_id"] for row in await pool.fetch("SELECT media_id FROM uploads")}
        await pool.execute("UPDATE uploads SET expires_at = now() + interval '1 day'")
        await pool.execute("UPDATE campaigns SET state = 'running'")
        await pool.execute(
            "UPDATE ranges SET state = 'open', due_at = 'infinity'"
        )  # it goes on and sends nothing

        async def renewed() -> bool:
            rows = await pool.fetch("SELECT media_id, expires_at > now() + interval '29 days' FROM uploads")
            return all(is_new for _, is_new in rows) and before.isdisjoint({media_id for media_id, _ in rows})

        async with started(pool, emulator, pictured, BOTH):
            await until(renewed)
            async with pool.acquire() as connection:
                assert await campaign_row(connection, pictured.campaign_id) == ("running", "")


@pytest.mark.usefixtures("quick_renewal")
@pytest.mark.parametrize("lost", ["gone", "changed"])
async def test_a_lost_file_stops_the_campaign_with_its_name_until_it_is_back(
    pool: Pool, pictured: Planted, tmp_path: Path, lost: str
) -> None:
    path = tmp_path / "b.png"
    path.unlink() if lost == "gone" else path.write_bytes(PNG + b"another")
    says = "cannot be read: No such file" if lost == "gone" else "has changed since"

    async def is_blocked() -> bool:
        row = await pool.fetchrow("SELECT state, reason, reason_code FROM campaigns")
        assert row is not None
        return (row["state"], row["reason_code"]) == ("running", "header_file") and says in row["reason"]

    async with serving(**dict.fromkeys(BOTH, HIGH_RATE_PER_S)) as emulator:
        async with started(pool, emulator, pictured, BOTH) as runner:
            await until(is_blocked)
            reason = await pool.fetchval("SELECT reason FROM campaigns")
            assert str(path) in reason
            assert len(emulator.service.ledger) == 0
            path.write_bytes(PNG + b"b")
            assert (await runner.end()).state == "finished"
        assert_each_once(emulator, pictured)
        await assert_each_picture_is_right(pool, emulator)


async def test_a_number_that_the_account_no_longer_lists_stops_nothing(
    pool: Pool, pictured: Planted, quick_renewal: None
) -> None:
    await pool.execute("UPDATE numbers SET unlisted_at = now() WHERE phone_number_id = $1", FAST)
    async with serving(**{SLOW: HIGH_RATE_PER_S}) as emulator:
        ended = await run_to_end(pool, emulator, pictured)
        assert ended.state == "finished"
        assert_each_once(emulator, pictured)


TEMPLATE = compile_template(PICTURED["definition"], "chat", header_media=Media(is_variable=True))
FILE = HeaderFile("a.png", "/pictures/a.png", "0" * 64, "image/png")


@pytest.mark.parametrize(
    ("valid_s", "is_listed", "is_due", "is_blocked"),
    [
        (RENEW_BEFORE_S + 1, True, False, False),
        (RENEW_BEFORE_S - 1, True, True, False),
        (LEAST_VALID_S - 1, True, True, True),
        (0, True, True, True),
        (0, False, False, False),
    ],
)
def test_when_files_are_uploaded_again_and_when_nothing_is_sent(
    valid_s: float, is_listed: bool, is_due: bool, is_blocked: bool
) -> None:
    files = HeaderFiles([TEMPLATE], ["1", "2"])
    later = Upload(FILE, "1", "7", RENEW_BEFORE_S * 2, True)
    files.read([later, Upload(FILE, "2", "8", valid_s, is_listed)], 0)
    assert (files.is_due(0), bool(files.blocked_reason(0))) == (is_due, is_blocked)
    if is_blocked:
        assert "/pictures/a.png" in files.blocked_reason(0)
    assert files.blocked_reason(RENEW_BEFORE_S * 2 * SECOND_NS), "in the end, none is valid"


def test_without_files_nothing_is_due() -> None:
    files = HeaderFiles([TEMPLATE], ["1"])
    files.read([], 0)
    assert not files.is_due(0)
    assert files.blocked_reason(0) == ""
