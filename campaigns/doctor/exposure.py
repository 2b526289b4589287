"""The checks of who else may read: the way to the database, the standbys of it, and the files of secrets."""

import os
import stat
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from drumbeat.campaigns.doctor.finding import Finding, ok, warn
from drumbeat.campaigns.sql import statements
from drumbeat.engine.process.settings import PREFIX, SECRETS, SETTINGS_FILE, Settings
from drumbeat.engine.store.database import Pool

LAG_S_MAX = 60.0  # what a failover may forget: `docs/operate/failover.md`
_VERIFIED = "verify-full"


async def check_connection(pool: Pool, settings: Settings) -> list[Finding]:
    """Check whether the way to the database is encrypted and its server verified, and how far standbys are
    behind.
    """
    row = await pool.fetchrow(statements("doctor")["connection"])
    assert row is not None
    url = "" if settings.database_url is None else settings.database_url.get_secret_value()
    mode = ssl_mode(url, os.environ.get("PGSSLMODE", ""))
    standbys = await pool.fetch(statements("doctor")["standbys"])
    return [
        way_to_database(row["address"], is_encrypted=row["is_encrypted"], mode=mode),
        *(standby(each["name"], each["state"], each["lag_s"]) for each in standbys),
    ]


def ssl_mode(url: str, default: str) -> str:
    """Return the mode of TLS that a URL asks for, or else the environment's."""
    return (parse_qs(urlsplit(url).query).get("sslmode") or [default])[0]


def way_to_database(address: str | None, *, is_encrypted: bool, mode: str) -> Finding:
    """Return what others on the network may read or change. `address`: of the server; None for a socket."""
    subject = "way to the database"
    if address is None or ip_address(address).is_loopback:
        return ok(subject, "it does not leave this machine")
    if not is_encrypted:
        return warn(
            subject,
            f"{address} is reached without TLS: who listens on the way reads phones and texts",
            "set up TLS in Postgres, and add ?sslmode=verify-full&sslrootcert=FILE to DRUMBEAT_DATABASE_URL",
        )
    if mode != _VERIFIED:
        return warn(
            subject,
            f"{address} is reached by TLS, but its name is not verified (sslmode {mode or 'prefer'})",
            "add sslmode=verify-full&sslrootcert=FILE to DRUMBEAT_DATABASE_URL",
        )
    return ok(subject, f"{address} is reached by TLS, and verified")


def standby(name: str, state: str, lag_s: float) -> Finding:
    """Return whether a standby follows closely enough for a failover."""
    subject = f"standby {name}"
    if state == "streaming" and lag_s <= LAG_S_MAX:
        return ok(subject, f"follows, {lag_s:.0f} s behind")
    return warn(
        subject,
        f"{state}, {lag_s:.0f} s behind: a failover now loses what was sent in that time",
        "find out what holds it up: its disk, the network, or a long query on it",
    )


def check_secret_files(folder: Path = Path()) -> list[Finding]:
    """Warn of files with secrets that every user of this machine may read; `folder` has the settings."""
    paths = [os.environ.get(f"{PREFIX}{name.upper()}_FILE") for name in SECRETS]
    files = [Path(path) for path in paths if path]
    if _holds_secret(settings := folder / SETTINGS_FILE):
        files.append(settings)
    return [
        warn(str(file), "every user of this machine may read this secret", f"run `chmod o= {file}`")
        for file in dict.fromkeys(files)
        if _is_open(file)
    ]


def _holds_secret(file: Path) -> bool:
    try:
        lines = file.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return False
    return any(line.partition("=")[0].strip() in SECRETS for line in lines)


def _is_open(file: Path) -> bool:
    try:
        return bool(file.stat().st_mode & (stat.S_IROTH | stat.S_IWOTH))
    except OSError:
        return False
