"""The checks of everything that sending needs. Each finding says what was found and what to do."""

import os
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from email.utils import parsedate_to_datetime
from enum import StrEnum
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

from drumbeat.campaigns.account.tier_warnings import tier_warnings
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.sql import statements
from drumbeat.engine.api.proxy import proxy_of
from drumbeat.engine.api.service import service_of
from drumbeat.engine.core.connection_limit import CONNECTIONS_MAX, WANTED, connections_within
from drumbeat.engine.core.disk_space import MIB, is_short
from drumbeat.engine.core.notification import Channel
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.errors import ConfigurationError, DrumbeatError
from drumbeat.engine.process.disk_space import free_bytes
from drumbeat.engine.process.file_descriptors import hard_limit
from drumbeat.engine.process.notification_settings import is_loopback
from drumbeat.engine.process.settings import PREFIX, SECRETS, Settings
from drumbeat.engine.store.database import Pool
from drumbeat.engine.store.notifications import undelivered
from drumbeat.engine.system_error import system_error_text

PYTHON_MIN = (3, 11)
CLOCK_SKEW_S_MAX = 30.0  # statuses and sending windows compare times of both clocks
ANSWER_S_MAX = 10.0
_READ_ELSEWHERE = ("log_level", "debug")  # read before the settings are loaded


class Level(StrEnum):
    OK = "ok"
    WARN = "warn"
    FAIL = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check. `remedy` is empty if nothing is wrong; `exit_code` counts only for FAIL."""

    subject: str
    level: Level
    found: str
    remedy: str = ""
    exit_code: int = 0


def worst_exit_code(findings: list[Finding]) -> int:
    """Return 0 if nothing failed, else the code of the first failure, which often caused the later ones."""
    return next((finding.exit_code for finding in findings if finding.level is Level.FAIL), 0)


def check_machine(settings: Settings) -> list[Finding]:
    """Check Python, the limit of file descriptors, and the home directory if the database is kept there."""
    version = ".".join(map(str, sys.version_info[:3]))
    python = (
        _ok("python", version)
        if sys.version_info >= PYTHON_MIN
        else _fail("python", version, "install Python 3.11 or newer", 78)
    )
    home = [_home(settings.home)] if settings.database_url is None else []
    return [python, *home, _descriptors()]


def check_variables() -> list[Finding]:
    """Report variables that look like settings but are none. A misspelt setting keeps its default."""
    known = [name.upper() for name in (*Settings.model_fields, *_READ_ELSEWHERE)]
    known += [f"{name.upper()}_FILE" for name in SECRETS]
    given = {name: name.upper().removeprefix(PREFIX) for name in sorted(os.environ)}
    return [
        _warn(name, "is not a setting and has no effect", _meant(bare, known))
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
        return [_fail("disk", found, remedy, 75)]
    return [_ok("disk", found)]


def check_secrets(settings: Settings) -> list[Finding]:
    """Check the secrets that the webhook receiver needs."""
    uses = {"app_secret": "events cannot be verified", "verify_token": "the callback cannot be registered"}
    return [
        _ok(name, "set")
        if getattr(settings, name)
        else _warn(name, f"not set: {effect}", f"set DRUMBEAT_{name.upper()}")
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
        return [_ok("notifications", f"by {' and '.join(named)}; `drumbeat notify test` tries them")]
    return [_ok("notifications", "not set up: nobody is told when a campaign finishes or pauses")]


async def check_deliveries(pool: Pool) -> list[Finding]:
    """Warn of notifications that could not be delivered in the last week."""
    return [
        _warn(
            f"notifications by {each.channel}",
            f"{each.waiting} wait for another attempt and {each.given_up} were given up: {each.problem}",
            "`drumbeat notify test` shows whether it works now",
        )
        for each in await undelivered(pool)
    ]


async def check_database(pool: Pool) -> list[Finding]:
    """Check version, clock and durability of the migrated database, and what was synced into it."""
    row = await pool.fetchrow(statements("doctor")["database"])
    assert row is not None
    skew_s = abs(row["now"].timestamp() - time.time())
    return [
        _ok("database", f"Postgres {row['version']}, migration {row['migration']:04}"),
        _durable(row["durable"]),
        _clock("clock of the database", skew_s),
        _synced("numbers", row["numbers"]),
        _synced("templates", row["templates"]),
    ]


async def check_messaging_limits(pool: Pool) -> list[Finding]:
    """Warn of messaging limits that the service does not say in a word that is known."""
    remedy = "run `drumbeat numbers sync`; a newer version may know the word"
    return [_warn("messaging limit", warning, remedy) for warning in await tier_warnings(pool)]


async def check_service(settings: Settings) -> list[Finding]:
    """Check whether the service answers, accepts the token, knows the account and has the same time."""
    try:
        service, waba_id = settings.service(), settings.required("waba_id")
    except ConfigurationError as error:
        return [_fail("service", error.what, error.remedy, error.exit_code)]
    reached = await _guarded("service", lambda: _reach(service.base_url, service.proxy))
    if reached[0].level is Level.FAIL:
        return reached
    reached += _encryption(service.base_url)

    async def numbers() -> list[Finding]:
        async with service_of(service) as client:
            found = [number async for number in client.numbers.list(waba_id)]
        return [_ok("token", f"valid; account {waba_id} has {pluralise(len(found), 'number')}")]

    return [*reached, *await _guarded("token", numbers)]


def _durable(durable: bool) -> Finding:
    if durable:
        return _ok("durability of the database", "fsync and full_page_writes are on")
    remedy = "set fsync and full_page_writes to on, or people may get a message twice after a crash"
    return _warn("durability of the database", "a crash of its machine may lose committed data", remedy)


def failed(subject: str, error: DrumbeatError) -> Finding:
    """Return an error as a finding."""
    where = f" ({error.where})" if error.where else ""
    return _fail(subject, error.what + where, error.remedy, error.exit_code)


async def _guarded(subject: str, check: Callable[[], Awaitable[list[Finding]]]) -> list[Finding]:
    try:
        return await check()
    except DrumbeatError as error:
        return [failed(subject, error)]
    except aiohttp.ClientHttpProxyError as error:
        refused = f"the proxy refuses the connection: {error.status} {sanitise(error.message)}"
        return [_fail(subject, refused, "check DRUMBEAT_PROXY_URL", 69)]
    except (aiohttp.ClientError, OSError, TimeoutError) as error:
        return [
            _fail(
                subject,
                f"does not answer: {system_error_text(error)}",
                "check DRUMBEAT_BASE_URL and the network",
                69,
            )
        ]


def _encryption(base_url: str) -> list[Finding]:
    """Warn of a service that is reached without TLS over a network."""
    parts = urlsplit(base_url)
    if parts.scheme == "https" or is_loopback(parts.hostname):
        return []
    found = f"{base_url} is not encrypted: the token and all recipients can be read on the way"
    return [_warn("encryption", found, "use an https:// address in DRUMBEAT_BASE_URL")]


async def _reach(base_url: str, proxy: str | None) -> list[Finding]:
    timeout = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
    by_way = proxy_of(proxy, base_url)
    async with (
        aiohttp.ClientSession(timeout=timeout, proxy=by_way.url) as session,
        session.get(
            base_url,
            headers=by_way.request_headers,
            allow_redirects=False,
            proxy_headers=by_way.tunnel_headers,
        ) as response,
    ):
        service_time = _moment(response.headers.get("Date", ""))
    answers = _ok("service", f"{base_url} answers")
    if service_time is None:
        return [answers]
    skew_s = abs((service_time - datetime.now(UTC)).total_seconds())
    return [answers, _clock("clock of the service", skew_s)]


def _moment(header: str) -> datetime | None:
    """Return the time in a `Date` header; None if it is no time with a zone."""
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def _home(home: Path) -> Finding:
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        return _fail("home", f"{home}: {error.strerror}", "set DRUMBEAT_HOME to a directory of yours", 78)
    if not os.access(home, os.W_OK | os.X_OK):
        return _fail("home", f"{home} cannot be written", "set DRUMBEAT_HOME to a directory of yours", 78)
    return _ok("home", str(home))


def _descriptors() -> Finding:
    limit = hard_limit()
    found = f"a process may open {limit:,} file descriptors"
    if limit >= WANTED:
        return _ok("descriptors", found)
    effect = f"{found}: a sender can open {connections_within(limit):,} of {CONNECTIONS_MAX:,} connections"
    return _warn("descriptors", effect, f"raise the hard limit to {WANTED} (LimitNOFILE=, ulimit -Hn)")


def _clock(subject: str, skew_s: float) -> Finding:
    found = f"{skew_s:.0f} s from this machine's clock"
    if skew_s <= CLOCK_SKEW_S_MAX:
        return _ok(subject, found)
    return _warn(subject, found, "synchronise the clocks, for example by NTP")


def _synced(subject: str, count: int) -> Finding:
    if count:
        return _ok(subject, f"{count} stored")
    return _warn(subject, "none stored", f"run `drumbeat {subject} sync`")


def _ok(subject: str, found: str) -> Finding:
    return Finding(subject, Level.OK, found)


def _warn(subject: str, found: str, remedy: str) -> Finding:
    return Finding(subject, Level.WARN, found, remedy)


def _fail(subject: str, found: str, remedy: str, exit_code: int) -> Finding:
    return Finding(subject, Level.FAIL, found, remedy, exit_code)
