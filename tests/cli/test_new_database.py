"""A database that cannot be upgraded: whoever follows the refusal, command for command, sends to nobody twice."""

import asyncio
import re
import shlex
from datetime import UTC, datetime, timedelta
from pathlib import Path

from drumbeat.engine.store.database import close, connect
from drumbeat.engine.store.schema_version import migrations
from tests.cli.conftest import CREATE
from tests.cli.processes import Drumbeat, Service

STOPPED = "+5511980000009"  # of the last of the ten people
PARAMS = ("--param", "name", "--param", "order")


def test_the_way_to_a_new_database_sends_to_nobody_twice(
    drumbeat: Drumbeat, synced: Service, audience: Path, database_url: str, empty_database_url: str
) -> None:
    create = (*CREATE, "--audience", audience, *PARAMS)
    drumbeat.ok("numbers", "limit", "2", "2")
    drumbeat.ok("suppress", "add", STOPPED)
    drumbeat.ok(*create)
    drumbeat("campaign", "run", "spring", "--until", (datetime.now(UTC) + timedelta(seconds=3)).isoformat())
    sent = synced.accepted()
    assert 0 < sent < 9

    asyncio.run(execute(database_url, "UPDATE schema_migrations SET checksum = md5(checksum)"))
    refused = drumbeat("campaign", "list")
    assert refused.exit_code == 78
    assert "does not know what was already sent" in refused.stderr
    commands = [shlex.split(found) for found in re.findall(r"`(drumbeat [^`]+)`", refused.stderr)]
    cancel, export, suppressed, migrate, suppress = [command[1:] for command in commands]

    former = "UPDATE schema_migrations SET checksum = $1 WHERE number = $2"
    asyncio.run(restore_checksums(database_url, former))
    drumbeat.ok(*["spring" if word == "NAME" else word for word in cancel])
    drumbeat.ok(*["spring" if word == "NAME" else word for word in export])
    written = drumbeat.ok(*suppressed[: suppressed.index(">")]).stdout
    (drumbeat.directory / suppressed[-1]).write_text(written, "utf-8")

    drumbeat.settings["database_url"] = empty_database_url
    drumbeat.ok(*migrate)
    drumbeat.ok(*suppress)
    drumbeat.ok("numbers", "sync")
    drumbeat.ok("templates", "sync")
    [exclude] = re.findall(r"`(--exclude [^`]+)`", refused.stderr)
    drumbeat.ok(*create, *exclude.split())
    drumbeat.ok("campaign", "run", "spring", "--quiet")
    phones = synced.recipients()
    assert len(phones) == len(set(phones)) == 9
    assert STOPPED.removeprefix("+") not in phones


async def execute(url: str, statement: str, *values: object) -> None:
    connection = await connect(url)
    try:
        await connection.execute(statement, *values)
    finally:
        await close(connection)


async def restore_checksums(url: str, statement: str) -> None:
    """The version that made the database knows it."""
    for version in migrations():
        await execute(url, statement, version.checksum, version.number)
