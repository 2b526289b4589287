"""A console that listens in this process, over a database with one campaign whose recipients have come to several ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import structlog
from argon2 import PasswordHasher

from drumbeat.campaigns.console.server import running_console
from drumbeat.campaigns.console.web import users
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.users import add_token
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.process.settings import Settings
from drumbeat.engine.store.database import Pool

# An unexpected error is written plainly. The usual way shows all local values, for minutes.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

# A password costs the console a quarter of a second of CPU and 64 MiB, so that guessing is slow. Tests need no more than
# the same kind of hash.
_CHEAP = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
_OF_NOBODY = _CHEAP.hash("nobody's")

NUMBER, OTHER_NUMBER = "1001", "1002"
PHONE = 5511960000000  # and the nine above it
TEXT = "Hello {{1}}, your order {{2}} is on its way"
PEOPLE = "".join(f"+{PHONE + row},Ana <b>{row}</b>,A{row}\n" for row in range(10))
BAD_CODE = 131026


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "_HASHER", _CHEAP)
    monkeypatch.setattr(users, "_OF_NOBODY", _OF_NOBODY)


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply; `body` is JSON if it is."""

    status: int
    headers: Any
    text: str
    body: Any

    @property
    def code(self) -> str:
        return str(self.body["code"])


class Caller:
    """Somebody with a token, or nobody without one."""

    def __init__(self, url: str, token: str = "") -> None:
        self.url = url
        self.headers = {"Authorization": f"Bearer {token}"} if token else {}

    async def __call__(self, method: str, path: str, **options: Any) -> Reply:
        headers = {**self.headers, **options.pop("headers", {})}
        options.setdefault("allow_redirects", False)
        async with (
            aiohttp.ClientSession(cookie_jar=aiohttp.DummyCookieJar()) as session,
            session.request(method, self.url + path, headers=headers, **options) as reply,
        ):
            if reply.content_type == "text/event-stream":  # it does not end
                return Reply(reply.status, reply.headers, "", None)
            is_json = reply.content_type.endswith("json")
            text = await reply.text()
            return Reply(
                reply.status, reply.headers, text, await reply.json(content_type=None) if is_json else None
            )

    async def get(self, path: str, **options: Any) -> Reply:
        return await self("GET", path, **options)

    async def post(self, path: str, **options: Any) -> Reply:
        return await self("POST", path, **options)


@pytest.fixture
async def campaign(pool: Pool, database_url: str, tmp_path: Path) -> str:
    """`spring`: ten recipients, of whom one read it, one failed, one is in doubt; the rest is still to send."""
    definition = {"components": [{"type": "BODY", "text": TEXT}], "parameter_format": "POSITIONAL"}
    await pool.execute(
        "INSERT INTO templates (name, language, status, category, definition) VALUES ('order', 'en', 'APPROVED', 'UTILITY', $1)",
        definition,
    )
    await pool.executemany(
        "INSERT INTO numbers (phone_number_id, verified_name, messaging_limit_tier) VALUES ($1, 'Lantern', 'TIER_1K')",
        [(NUMBER,), (OTHER_NUMBER,)],
    )
    audience = tmp_path / "people.csv"
    audience.write_text("phone,name,order\n" + PEOPLE, "utf-8")
    await create_campaign(
        database_url,
        CampaignSpec(
            name="spring",
            template="order",
            language="en",
            audience=audience,
            number=[NUMBER, OTHER_NUMBER],
            param=["name", "order"],
        ),
    )
    await _happen(pool)
    return "spring"


async def _happen(pool: Pool) -> None:
    await pool.execute("UPDATE ranges SET claimed_through = 3, epoch = 1 WHERE ordinal = 0")
    outcome = (
        "INSERT INTO outcomes (range_id, seq, attempt_no, epoch, kind, status, phone_number_id, wamid, code, reason, attempted_at)"
        " SELECT range_id, $1, 1, 1, $2, $3, $4, $5, $6, $7, now() FROM ranges WHERE ordinal = 0"
    )
    await pool.execute(outcome, 1, 1, 5, NUMBER, "wamid.1", None, None)
    await pool.execute(outcome, 2, 2, None, NUMBER, None, BAD_CODE, str(BAD_CODE))
    await pool.execute(
        "INSERT INTO pending_attempts (range_id, seq, attempt_no, state, epoch, phone_number_id, reason)"
        " SELECT range_id, 3, 1, 'unknown', 1, $1, 'the reply was lost' FROM ranges WHERE ordinal = 0",
        NUMBER,
    )
    await pool.execute(
        "UPDATE range_counters SET read = 1, failed = 1, unknown = 1"
        " WHERE range_id = (SELECT range_id FROM ranges WHERE ordinal = 0)"
    )
    await pool.execute(
        "INSERT INTO campaign_numbers (campaign_id, phone_number_id, limit_per_s, attempts, accepted)"
        " SELECT campaign_id, $1, 80, 3, 1 FROM campaigns",
        NUMBER,
    )
    await pool.execute(
        "INSERT INTO incoming_messages (wamid, phone_number_id, sender, type, sent_at, body)"
        " VALUES ('wamid.in', $1, $2, 'text', now(), $3)",
        NUMBER,
        str(PHONE),
        {"text": {"body": "Thank you <3"}},
    )


@asynccontextmanager
async def console(
    pool: Pool, database_url: str, home: Path, *, port: int = 0, **settings: Any
) -> AsyncIterator[str]:
    """A console, on a free port unless one is given; gives its URL."""
    given = Settings(home=home, database_url=database_url, **settings)
    async with running_console(
        pool, database_url, given, host="127.0.0.1", port=port, stop=asyncio.Event()
    ) as url:
        yield url


@pytest.fixture
async def url(pool: Pool, database_url: str, campaign: str, tmp_path: Path) -> AsyncIterator[str]:
    async with console(pool, database_url, tmp_path) as url:
        yield url


@pytest.fixture
async def callers(pool: Pool, url: str) -> dict[Role, Caller]:
    """A program of each role."""
    return {role: Caller(url, await add_token(pool, f"of-{role}", role, actor="test")) for role in Role}


@pytest.fixture
def manager(callers: dict[Role, Caller]) -> Caller:
    return callers[Role.MANAGE]
