"""Files of the client: streamed, checked against their hash, and complete or not there at all."""

import base64
import os
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path

import pytest
from aiohttp import web

from drumbeat.emulator.config import EmulatorConfig, NumberConfig
from drumbeat.emulator.testing import Emulator, running_emulator
from drumbeat.engine.api import Service, ServiceError
from drumbeat.engine.core.media_limits import MEGABYTE
from drumbeat.engine.errors import ConfigurationError, UsageError

NUMBER = "1"
CONFIG = EmulatorConfig(port=0, numbers=(NumberConfig(NUMBER, 1000),))


@pytest.fixture
async def emulator() -> AsyncIterator[Emulator]:
    async with running_emulator(CONFIG) as running:
        yield running


@pytest.fixture
async def client(emulator: Emulator) -> AsyncIterator[Service]:
    async with Service(emulator.url, CONFIG.token) as client:
        yield client


async def test_an_upload_is_streamed(tmp_path: Path) -> None:
    """A file of 64 MB passes through less than 8 MB of memory."""
    file = tmp_path / "long.pdf"
    with file.open("wb") as content:
        content.truncate(64 * MEGABYTE)
    received = 0

    async def take(request: web.Request) -> web.Response:
        nonlocal received
        async for chunk in request.content.iter_chunked(65_536):
            received += len(chunk)
        return web.json_response({"id": "77"})

    app = web.Application()
    app.router.add_post("/v22.0/1/media", take)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    tracemalloc.start()
    try:
        async with Service(f"http://127.0.0.1:{runner.addresses[0][1]}", "t") as client:
            assert await client.media.upload(NUMBER, file) == "77"
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        await runner.cleanup()
    assert received > 64 * MEGABYTE
    assert peak_bytes < 8 * MEGABYTE


async def test_a_download_of_another_content_leaves_nothing(
    client: Service, emulator: Emulator, tmp_path: Path
) -> None:
    file, target = tmp_path / "a.png", tmp_path / "b.png"
    file.write_bytes(b"a picture")
    target.write_bytes(b"what was there")
    media_id = await client.media.upload(NUMBER, file)
    items = emulator.service.media._items
    items[media_id] = replace(items[media_id], content=b"another")
    with pytest.raises(ServiceError, match="SHA-256 differs"):
        await client.media.download(media_id, target)
    assert target.read_bytes() == b"what was there"
    assert sorted(os.listdir(tmp_path)) == ["a.png", "b.png"]  # noqa: PTH208 - an async test


async def test_a_downloaded_file_is_for_its_owner_alone(client: Service, tmp_path: Path) -> None:
    """Whatever the umask, and whatever others have put in the directory."""
    file, target, of_others = tmp_path / "a.png", tmp_path / "b.png", tmp_path / "of-others"
    file.write_bytes(b"a picture")
    of_others.write_bytes(b"theirs")
    (tmp_path / ".b.png.part").symlink_to(of_others)
    before = os.umask(0)
    try:
        await client.media.download(await client.media.upload(NUMBER, file), target)
    finally:
        os.umask(before)
    assert (target.stat().st_mode & 0o777, target.read_bytes()) == (0o600, b"a picture")
    assert of_others.read_bytes() == b"theirs"


@pytest.mark.parametrize("spelling", ["BASE64", "", "UPPER"])
async def test_a_hash_may_be_in_base64_or_missing(
    client: Service, emulator: Emulator, tmp_path: Path, spelling: str
) -> None:
    file, target = tmp_path / "a.png", tmp_path / "b.png"
    file.write_bytes(b"a picture")
    media_id = await client.media.upload(NUMBER, file)
    items = emulator.service.media._items
    digest = bytes.fromhex(items[media_id].sha256)
    written = {"": "", "UPPER": digest.hex().upper()}.get(spelling, base64.b64encode(digest).decode())
    items[media_id] = replace(items[media_id], sha256=written)
    await client.media.download(media_id, target)
    assert target.read_bytes() == b"a picture"


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [("a.png", b"", "empty"), ("a.strange", b"x", "no known type"), ("a.webp", b"x" * 512_001, "512,000")],
)
async def test_a_file_that_the_service_would_refuse_is_not_uploaded(
    client: Service, emulator: Emulator, tmp_path: Path, name: str, content: bytes, words: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(UsageError, match=words):
        await client.media.upload(NUMBER, tmp_path / name)
    assert emulator.service.media.items() == []


async def test_a_file_that_cannot_be_read_or_written_is_named(client: Service, tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be read.*nothing\.png"):
        await client.media.upload(NUMBER, tmp_path / "nothing.png")
    (tmp_path / "a.png").write_bytes(b"x")
    media_id = await client.media.upload(NUMBER, tmp_path / "a.png")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        await client.media.download(media_id, tmp_path / "no" / "place.png")


async def test_the_token_never_goes_to_a_plain_address_of_an_https_service() -> None:
    async with Service("https://service.invalid", "t") as client:
        with pytest.raises(ServiceError, match="HTTPS"):
            _ = [chunk async for chunk in client.media._caller.chunks("http://elsewhere.example/a")]
