"""The doctor's findings about who else may read: the way to the database, standbys, files of secrets."""

from pathlib import Path

import pytest

from drumbeat.campaigns.doctor.exposure import (
    LAG_S_MAX,
    check_connection,
    check_secret_files,
    ssl_mode,
    standby,
    way_to_database,
)
from drumbeat.campaigns.doctor.finding import Level
from drumbeat.campaigns.doctor.stored import BYTES_PER_RECIPIENT, check_room, room
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool


@pytest.mark.parametrize(
    ("address", "is_encrypted", "mode", "level", "words"),
    [
        (None, False, "", Level.OK, "does not leave"),
        ("127.0.0.1", False, "", Level.OK, "does not leave"),
        ("::1", False, "", Level.OK, "does not leave"),
        ("10.0.0.7", False, "", Level.WARN, "without TLS"),
        ("10.0.0.7", False, "prefer", Level.WARN, "without TLS"),
        ("10.0.0.7", True, "require", Level.WARN, "not verified (sslmode require)"),
        ("10.0.0.7", True, "", Level.WARN, "not verified (sslmode prefer)"),
        ("10.0.0.7", True, "verify-ca", Level.WARN, "not verified"),
        ("10.0.0.7", True, "verify-full", Level.OK, "verified"),
    ],
)
def test_the_way_to_the_database(
    address: str | None, is_encrypted: bool, mode: str, level: Level, words: str
) -> None:
    found = way_to_database(address, is_encrypted=is_encrypted, mode=mode)
    assert found.level is level and words in found.found
    assert bool(found.remedy) is (level is Level.WARN)


def test_the_mode_of_tls_is_that_of_the_url_or_else_of_the_environment() -> None:
    assert ssl_mode("postgresql://a@b/c?x=1&sslmode=verify-full", "require") == "verify-full"
    assert ssl_mode("postgresql://a@b/c", "require") == "require"


@pytest.mark.parametrize(
    ("state", "lag_s", "level"),
    [("streaming", 1.0, Level.OK), ("streaming", LAG_S_MAX + 1, Level.WARN), ("catchup", 0.0, Level.WARN)],
)
def test_a_standby_that_is_behind_is_warned_of(state: str, lag_s: float, level: Level) -> None:
    assert standby("b", state, lag_s).level is level


async def test_the_statements_answer(pool: Pool, tmp_path: Path) -> None:
    """The server of the tests has a socket, and no standby."""
    found = await check_connection(pool, Settings(home=tmp_path))
    assert [(each.subject, each.level) for each in found] == [("way to the database", Level.OK)]


def test_campaigns_that_do_not_fit_on_the_disk_are_warned_of() -> None:
    assert room(free=BYTES_PER_RECIPIENT * 1_000, recipients=1_000).level is Level.OK
    assert room(free=BYTES_PER_RECIPIENT * 1_000, recipients=1_001).level is Level.WARN


async def test_the_room_of_the_embedded_database_is_checked(pool: Pool, tmp_path: Path) -> None:
    assert [each.level for each in await check_room(pool, Settings(home=tmp_path))] == [Level.OK]


def test_files_of_secrets_that_everybody_reads_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token, secret, settings = tmp_path / "token", tmp_path / "secret", tmp_path / "drumbeat.toml"
    for file, mode in ((token, 0o644), (secret, 0o640), (settings, 0o644)):
        file.write_text('home = "data"\n')
        file.chmod(mode)
    monkeypatch.setenv("DRUMBEAT_ACCESS_TOKEN_FILE", str(token))
    monkeypatch.setenv("DRUMBEAT_APP_SECRET_FILE", str(secret))
    assert [(each.subject, each.remedy) for each in check_secret_files(tmp_path)] == [
        (str(token), f"run `chmod o= {token}`")
    ]
    settings.write_text('home = "data"\napp_secret = "s"\n')
    assert [each.subject for each in check_secret_files(tmp_path)] == [str(token), str(settings)]
