"""A line of cron that runs every minute for ten days sends to each person who is due, once.

The days pass in the database: its functions of the time are shadowed by those of a schema that comes first in the
search path, and are ahead by what a table says. Every statement of Drumbeat follows, and time still flows between two
of them. The commands are called in this process, by the same function as in theirs.
"""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from drumbeat.campaigns.cli.main import main
from drumbeat.testing.databases import execute, run_apart
from tests.cli.processes import Drumbeat, Service

DAYS, PEOPLE_A_DAY = 10, 7
DUE = 9 * 60  # the minute of the day at which people are due
DAY = 24 * 60
# Of each day: its first minute, those around the time when people are due, and its last.
SOME_MINUTES = (0, DUE - 1, DUE, DUE + 1, DUE + 200, DAY - 1)
FIRST = datetime(2031, 3, 1, tzinfo=UTC)
MANIFEST = """
template = "order_shipped"
language = "pt_BR"
number = ["1", "2"]
param = ["name", "order"]
"""
SHADOWS = [
    "CREATE SCHEMA virtual",
    "CREATE TABLE virtual.clock (ahead interval NOT NULL)",
    "INSERT INTO virtual.clock VALUES ('0')",
    *(
        f"CREATE FUNCTION virtual.{name}() RETURNS timestamptz {kind} LANGUAGE sql"
        f" AS 'SELECT pg_catalog.{name}() + ahead FROM virtual.clock'"
        for name, kind in (("now", "STABLE"), ("clock_timestamp", "VOLATILE"))
    ),
]


class VirtualDays:
    """The database's time, which the test moves."""

    def __init__(self, url: str) -> None:
        name = urlsplit(url).path[1:]
        path = "virtual, public, pg_catalog"
        run_apart(execute(url, *SHADOWS, f"ALTER DATABASE {name} SET search_path = {path}"))
        self._runner = asyncio.Runner()
        self._connection: asyncpg.Connection[asyncpg.Record] = self._runner.run(asyncpg.connect(url))

    def move_to(self, moment: datetime) -> None:
        move = "UPDATE virtual.clock SET ahead = $1::timestamptz - pg_catalog.now()"
        self._runner.run(self._connection.execute(move, moment))

    def states(self) -> Counter[str]:
        rows = self._runner.run(self._connection.fetch("SELECT state FROM campaigns"))
        return Counter(row["state"] for row in rows)

    def close(self) -> None:
        self._runner.run(self._connection.close())
        self._runner.close()


@pytest.fixture
def days(database_url: str) -> Iterator[VirtualDays]:
    made = VirtualDays(database_url)
    yield made
    made.close()


@pytest.fixture
def cron(
    drumbeat: Drumbeat, synced: Service, days: VirtualDays, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Drumbeat]:
    """The environment of the line, here and in processes."""
    for name, value in drumbeat.settings.items():
        monkeypatch.setenv(f"DRUMBEAT_{name.upper()}", value)
    monkeypatch.setenv("DRUMBEAT_LOG_LEVEL", "error")
    monkeypatch.chdir(drumbeat.directory)
    Path("orders.toml").write_text(MANIFEST)
    former = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}
    yield drumbeat
    for number, handler in former.items():
        signal.signal(number, handler)


def due_people(day: int) -> list[int]:
    """Some are due on two days, and get a message on each."""
    return [5511980000000 + 4 * day + person for person in range(PEOPLE_A_DAY)]


def line(moment: datetime) -> tuple[Sequence[str], Sequence[str]]:
    """`name=orders-$(date +%F); apply … && run`, at this moment."""
    name = f"orders-{moment:%F}"
    start = f"{moment:%F}T09:00+00:00"
    apply = (
        "campaign",
        "apply",
        "orders.toml",
        "--name",
        name,
        "--start-at",
        start,
        "--audience",
        f"{name}.csv",
    )
    return (*apply, "--quiet"), ("campaign", "run", name, "--quiet")


def write_due(moment: datetime, day: int) -> None:
    """Another system writes each day's file before its first minute."""
    rows = "".join(f"+{phone},Ana,A-{day}\n" for phone in due_people(day))
    Path(f"orders-{moment:%F}.csv").write_text(f"phone,name,order\n{rows}")


def pass_days(cron: Drumbeat, days: VirtualDays, minutes: Sequence[int]) -> None:
    for day in range(DAYS):
        write_due(FIRST + timedelta(days=day), day)
        for minute in minutes:
            moment = FIRST + timedelta(days=day, minutes=minute)
            days.move_to(moment)
            apply, run = line(moment)
            assert main(apply) == 0
            # The line of the minute before may still run: of two runs, one has the lock.
            other = cron.start(*run) if minute == DUE else None
            code = main(run)
            if other is not None:
                other.communicate(timeout=60)
                assert {code, other.returncode} <= {0, 75}
                assert 0 in (code, other.returncode)
            else:
                assert code == (75 if minute < DUE else 0), moment


def check(service: Service, days: VirtualDays) -> None:
    due = Counter(str(phone) for day in range(DAYS) for phone in due_people(day))
    assert Counter(service.recipients()) == due
    assert max(due.values()) > 1
    assert days.states() == {"finished": DAYS}


def test_some_minutes_of_ten_days(cron: Drumbeat, service: Service, days: VirtualDays) -> None:
    pass_days(cron, days, SOME_MINUTES)
    check(service, days)


@pytest.mark.slow
def test_every_minute_of_ten_days(cron: Drumbeat, service: Service, days: VirtualDays) -> None:
    pass_days(cron, days, range(DAY))
    check(service, days)
