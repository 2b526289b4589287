"""A bench by HTTPS, through a proxy of somebody's, and a comparison that fails CI."""

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import orjson
import pytest

from tests.cli.processes import Drumbeat, serving
from tests.kit.certificates import make_certificate

QUICK = ("bench", "--only", "pacing", "--duration", "2", "--rate", "100", "--repeats", "1", "--quiet")


async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str, port: int) -> None:
    there_reader, there_writer = await asyncio.open_connection(host, port)

    async def copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await source.read(65_536):
                target.write(data)
                await target.drain()
        target.close()

    await asyncio.gather(copy(reader, there_writer), copy(there_reader, writer))


@contextmanager
def proxy_to(url: str) -> Iterator[str]:
    """Passes on bytes, as a balancer in front of TLS does."""
    there, loop = urlsplit(url), asyncio.new_event_loop()

    async def listen() -> asyncio.Server:
        return await asyncio.start_server(
            lambda reader, writer: pass_on(reader, writer, str(there.hostname), int(there.port or 443)),
            "127.0.0.1",
        )

    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    server = asyncio.run_coroutine_threadsafe(listen(), loop).result()
    try:
        yield f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


@pytest.mark.long
def test_a_bench_by_https_through_a_proxy_and_a_comparison_that_fails(tmp_path: Path) -> None:
    drumbeat, certificate = Drumbeat(tmp_path, {"home": str(tmp_path / "home")}), make_certificate(tmp_path)
    tls = ("--tls-cert", certificate.chain, "--tls-key", certificate.key)
    with serving(drumbeat, "emulator", "serve", "--port", "0", *tls) as url, proxy_to(url) as front:
        untrusted = drumbeat(*QUICK, "--service", front)
        assert untrusted.exit_code == 78 and "--ca-file" in untrusted.complaint
        for name in ("before", "after"):
            drumbeat.ok(*QUICK, "--service", front, "--ca-file", certificate.chain, "--output", name)
    report = orjson.loads((tmp_path / "after/report.json").read_bytes())
    assert report["load"]["tls"] is True
    same = drumbeat("bench", "compare", "before", "after", "--fail-over", "1000%")
    assert same.exit_code == 0, same.complaint
    for row in report["pace"]:
        for figure in row["reached"]:
            row["reached"][figure] = [0.1] if figure == "values" else 0.1
    (tmp_path / "after/report.json").write_bytes(orjson.dumps(report))
    worse = drumbeat("bench", "compare", "before", "after", "--fail-over", "10%")
    assert worse.exit_code == 3 and "share of the limit" in worse.complaint, worse.complaint


@pytest.mark.long
def test_a_database_of_the_users_gets_one_that_is_dropped(tmp_path: Path, database_url: str) -> None:
    drumbeat = Drumbeat(tmp_path, {"home": str(tmp_path / "home")})
    refused = drumbeat("bench", "--only", "planning", "--database", database_url)
    assert refused.exit_code == 2 and "planning" in refused.complaint
    drumbeat.ok(*QUICK, "--database", database_url, "--output", "report")
    report = orjson.loads((tmp_path / "report/report.json").read_bytes())
    assert report["pace"][0]["reached"]["median"] > 0

    async def left() -> list[str]:
        import asyncpg

        connection = await asyncpg.connect(database_url)
        try:
            return [row[0] for row in await connection.fetch("SELECT datname FROM pg_database")]
        finally:
            await connection.close()

    assert [name for name in asyncio.run(left()) if name.startswith("drumbeat_bench_")] == []
