"""The checks of this machine and of the settings."""

import os
import sys
from difflib import get_close_matches
from pathlib import Path

from drumbeat.campaigns.doctor.finding import Finding, fail, failed, ok, warn
from drumbeat.engine.core.connection_limit import CONNECTIONS_MAX, WANTED, connections_within
from drumbeat.engine.core.disk_space import MIB, is_short
from drumbeat.engine.core.notification import Channel
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.disk_space import free_bytes
from drumbeat.engine.process.file_descriptors import hard_limit
from drumbeat.engine.process.settings import PREFIX, SECRETS, Settings

PYTHON_MIN = (3, 11)
_READ_ELSEWHERE = ("log_level", "debug")  # read before the settings are loaded


def check_machine(settings: Settings) -> list[Finding]:
    """Check Python, the limit of file descriptors, and the home directory if the database is kept there."""
    version = ".".join(map(str, sys.version_info[:3]))
    python = (
        ok("python", version)
        if sys.version_info >= PYTHON_MIN
        else fail("python", version, "install Python 3.11 or newer", 78)
    )
    home = [_home(settings.home)] if settings.database_url is None else []
    return [python, *home, _descriptors()]


def check_variables() -> list[Finding]:
    """Report variables that look like settings but are none. A misspelt setting keeps its default."""
    known = [name.upper() for name in (*Settings.model_fields, *_READ_ELSEWHERE)]
    known += [f"{name.upper()}_FILE" for name in SECRETS]
    given = {name: name.upper().removeprefix(PREFIX) for name in sorted(os.environ)}
    return [
        warn(name, "is not a setting and has no effect", _meant(bare, known))
        for name, bare in given.items()
        if bare != name.upper() and bare not in known
    ]


def _meant(bare: str, known: list[str]) -> str:
    meant = get_close_matches(bare, known, 1)
    return f"did you mean {PREFIX}{meant[0]}?" if meant else "remove it"


def check_disk(settings: Settings) -> list[Finding]:
    """Check the free space if the database is on this machine."""
    disk = settings.disk()
    if disk is None:
        return []
    free = free_bytes(disk.directory)
    found = f"{free // MIB:,} MiB free in {disk.directory}"
    if is_short(free, disk.least_free_mib * MIB, was_short=False):
        remedy = (
            f"free some space: below {disk.least_free_mib:,} MiB nothing is sent (DRUMBEAT_LEAST_FREE_MIB)"
        )
        return [fail("disk", found, remedy, 75)]
    return [ok("disk", found)]


def check_secrets(settings: Settings) -> list[Finding]:
    """Check the secrets that the webhook receiver needs."""
    uses = {"app_secret": "events cannot be verified", "verify_token": "the callback cannot be registered"}
    return [
        ok(name, "set")
        if getattr(settings, name)
        else warn(name, f"not set: {effect}", f"set DRUMBEAT_{name.upper()}")
        for name, effect in uses.items()
    ]


def check_notifications(settings: Settings) -> list[Finding]:
    """Check whether every channel of notifications is set up completely. Sends nothing."""
    try:
        notifications = settings.notifications()
    except ConfigurationError as error:
        return [failed("notifications", error)]
    channels = {Channel.WEBHOOK: notifications.webhook, Channel.MAIL: notifications.mail}
    if named := [channel for channel, setting in channels.items() if setting is not None]:
        return [ok("notifications", f"by {' and '.join(named)}; `drumbeat notify test` tries them")]
    return [ok("notifications", "not set up: nobody is told when a campaign finishes or pauses")]


def _home(home: Path) -> Finding:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return fail("home", f"{home}: {error.strerror}", "set DRUMBEAT_HOME to a directory of yours", 78)
    if not os.access(home, os.W_OK | os.X_OK):
        return fail("home", f"{home} cannot be written", "set DRUMBEAT_HOME to a directory of yours", 78)
    return ok("home", str(home))


def _descriptors() -> Finding:
    limit = hard_limit()
    found = f"a process may open {limit:,} file descriptors"
    if limit >= WANTED:
        return ok("descriptors", found)
    effect = f"{found}: a sender can open {connections_within(limit):,} of {CONNECTIONS_MAX:,} connections"
    return warn("descriptors", effect, f"raise the hard limit to {WANTED} (LimitNOFILE=, ulimit -Hn)")
