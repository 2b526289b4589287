"""The roles of docs/operate/database.md: each can do its work, and nothing that is not its work."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from drumbeat.campaigns import sql as campaigns_sql
from drumbeat.engine.store import sql
from drumbeat.engine.store.queries import named_statements
from drumbeat.testing.databases import execute
from tests.cli.processes import Drumbeat, until
from tests.operate.campaign import Campaign, fetch, planned, receiving, working
from tests.operate.pages import PAGES

RECIPIENTS = 200
ROLES = ("drumbeat_owner", "drumbeat_worker", "drumbeat_reader")
# groups of statements that only the owner's commands use
OWNERS = {"plan", "prune", "forget", "migrate", "console_people"}
BY_MIGRATIONS = {("INSERT", "installation")}  # one of the group `installation`
QUERIES = (Path(*sql.__path__) / "queries", Path(*campaigns_sql.__path__) / "queries")
SCHEMA = Path(*sql.__path__) / "schema"
WRITE = re.compile(r"\b(INSERT)\s+INTO\s+(\w+)|\b(UPDATE)\s+([a-z]\w+)|\b(DELETE)\s+FROM\s+(\w+)")
OF_THE_WORKER = (
    ("numbers", "sync"),
    ("templates", "sync"),
    ("suppress", "add", "+4930901820"),
    ("suppress", "remove", "+4930901820"),
    ("numbers", "resume", "1"),
    ("campaign", "start", "spring"),
    ("campaign", "pause", "spring"),
    ("campaign", "resume", "spring"),
)
OF_THE_READER = (
    *(("campaign", word, "spring") for word in ("status", "report", "export")),
    ("campaign", "report", "spring", "--by", "country"),
    ("campaign", "replies", "spring"),
    ("person", "show", "+4930901820"),
    *((group, "list") for group in ("campaign", "numbers", "templates", "suppress")),
)
REFUSED_TO_THE_WORKER = (
    "SELECT FROM console_users",
    "SELECT FROM console_sessions",
    "SELECT FROM console_tokens",
    "SELECT FROM console_requests",
    "INSERT INTO recipients SELECT * FROM recipients LIMIT 1",
    "UPDATE audit SET actor = 'nobody'",
    "DELETE FROM audit",
    "DELETE FROM campaigns",
    "DROP TABLE outcomes",
    "CREATE TABLE mine (id integer)",
    "ALTER TABLE numbers ADD COLUMN mine integer",
    "COPY recipients TO PROGRAM 'cat'",
)
REFUSED_TO_THE_READER = (
    "SELECT FROM console_users",
    "SELECT FROM console_sessions",
    "SELECT FROM console_tokens",
    "SELECT FROM console_requests",
    "UPDATE numbers SET epoch = epoch + 1",
    "DELETE FROM suppressions",
    "INSERT INTO audit (actor, action) VALUES ('nobody', 'x')",
)


def blocks_of_sql() -> list[str]:
    """A superuser's block, and the owner's after each migration."""
    text = (PAGES / "database.md").read_text("utf-8").partition("## Roles with few rights")[2]
    return re.findall(r"^```sql\n(.*?)^```", text.partition("\n## ")[0], re.MULTILINE | re.DOTALL)


def granted() -> set[tuple[str, str]]:
    """Privilege and table of each grant to the worker's role."""
    grants = re.findall(r"GRANT ([A-Z, ]+) ON ([\w,\s]+) TO drumbeat_worker;", blocks_of_sql()[1])
    return {
        (privilege, table)
        for privileges, tables in grants
        for privilege in privileges.split(", ")
        for table in re.split(r",\s+", tables)
    }


def written() -> set[tuple[str, str]]:
    """What the statements of workers, receivers and steering commands write to tables of the schema."""
    texts = [
        text
        for directory in QUERIES
        for file in directory.glob("*.sql")
        if file.stem not in OWNERS
        for text in named_statements(file.read_text("utf-8"), file.name).values()
    ]
    texts += [
        function
        for file in SCHEMA.glob("*/*.sql")
        for function in re.findall(r"CREATE FUNCTION.*?\$\$;", file.read_text("utf-8"), re.DOTALL)
    ]
    schema = "".join(file.read_text("utf-8") for file in SCHEMA.glob("*/*.sql"))
    tables = set(re.findall(r"^CREATE TABLE (\w+)", schema, re.MULTILINE))
    found = {words for text in texts for words in writes(re.sub(r"--.*", "", text))}
    return {(privilege, table) for privilege, table in found if table in tables} - BY_MIGRATIONS


def writes(statement: str) -> Iterator[tuple[str, str]]:
    for table in re.findall(r"INSERT INTO (\w+)(?:(?!INSERT INTO).)*?DO UPDATE", statement, re.DOTALL):
        yield "UPDATE", table
    for match in WRITE.finditer(statement):
        privilege, table = (word for word in match.groups() if word)
        yield privilege, table


def test_the_worker_may_write_what_the_statements_write() -> None:
    """UPDATE is also needed to lock a row, so a grant of it may have no statement that writes."""
    assert written() - granted() == set()
    assert {(what, table) for what, table in granted() - written() if what != "UPDATE"} == set()


async def carried_out(url: str, statements: tuple[str, ...]) -> list[str]:
    """Those of the statements that the server does not refuse for want of a privilege."""
    connection = await asyncpg.connect(url)
    done = []
    try:
        for statement in statements:
            try:
                await connection.execute(statement)
            except asyncpg.InsufficientPrivilegeError:
                continue
            done.append(statement)
    finally:
        await connection.close()
    return done


@pytest.fixture
def roles(empty_database_url: str) -> Iterator[tuple[str, ...]]:
    """The URL of each role, in a database where the superuser's block was run."""
    name = urlsplit(empty_database_url).path[1:]
    statements = blocks_of_sql()[0].replace("DATABASE drumbeat_db", f"DATABASE {name}")
    asyncio.run(execute(empty_database_url, statements))
    yield tuple(empty_database_url.replace("://postgres:@", f"://{role}@") for role in ROLES)
    for role in ROLES:
        asyncio.run(execute(empty_database_url, f"DROP OWNED BY {role} CASCADE", f"DROP ROLE {role}"))


@pytest.mark.long
def test_a_campaign_runs_with_the_three_roles(drumbeat: Drumbeat, roles: tuple[str, ...]) -> None:
    owner, worker, reader = roles
    drumbeat.settings["database_url"] = owner
    drumbeat.ok("db", "migrate")
    asyncio.run(execute(owner, blocks_of_sql()[1]))
    with planned(drumbeat, RECIPIENTS, status_delay_s=0) as campaign:
        drumbeat.settings["database_url"] = worker
        send(campaign)
    drumbeat.settings["database_url"] = reader
    for words in OF_THE_READER:
        drumbeat.ok(*words)
    refused = drumbeat("suppress", "add", "+4930901820")
    assert (refused.exit_code, "lacks a privilege" in refused.complaint) == (78, True)
    assert asyncio.run(carried_out(worker, REFUSED_TO_THE_WORKER)) == []
    assert asyncio.run(carried_out(reader, REFUSED_TO_THE_WORKER + REFUSED_TO_THE_READER)) == []


def send(campaign: Campaign) -> None:
    """Everything that the worker's role is for."""
    for words in OF_THE_WORKER:
        campaign.drumbeat.ok(*words)
    with receiving(campaign), working(campaign):
        campaign.await_finished()
        campaign.await_events()
        open_states = "SELECT FROM recipient_states WHERE state IN ('accepted', 'sent')"
        until(lambda: not fetch(campaign.database_url, open_states), "every status was applied")
    for words in (("campaign", "settle", "spring"), ("doctor",), ("campaign", "run", "spring")):
        campaign.drumbeat.ok(*words)
