"""What operators see of the console: events without phones, metrics by route, and readiness."""

import asyncio
from pathlib import Path

import aiohttp
import asyncpg
import orjson
import structlog

from drumbeat.campaigns.console.server import running_console
from drumbeat.campaigns.console.web.observing import DatabaseWatch
from drumbeat.engine.process.settings import MetricsAddress, Settings
from drumbeat.engine.store.database import Pool
from tests.console.conftest import PHONE, Caller
from tests.kit.waiting import until
from tests.metrics_text import scrape, value


async def test_requests_are_counted_by_route_and_logged_without_phones(
    pool: Pool, database_url: str, campaign: str, tmp_path: Path
) -> None:
    settings, stop = Settings(home=tmp_path, database_url=database_url), asyncio.Event()
    with structlog.testing.capture_logs() as logs:
        async with running_console(
            pool,
            database_url,
            settings,
            host="127.0.0.1",
            port=0,
            stop=stop,
            metrics=MetricsAddress("127.0.0.1", 0),
        ) as url:
            caller = Caller(url)
            await caller.get(f"/people/{PHONE}")
            await caller.get(f"/people/{PHONE + 1}")
            await caller.get("/nothing/at/all")
            await caller("PROPFIND", "/campaigns", headers={"Origin": url})
            (served,) = [each for each in logs if each["event"] == "metrics_served"]
            async with (
                aiohttp.ClientSession() as session,
                session.get(f"{url}/live/campaigns/spring") as stream,
            ):
                await stream.content.readline()
                text = await asyncio.to_thread(scrape, f"http://127.0.0.1:{served['port']}/metrics")
            ready = await asyncio.to_thread(scrape, f"http://127.0.0.1:{served['port']}/readyz")
    requests = "drumbeat_console_requests_total"
    assert value(text, requests, method="GET", route="/people/{phone}", status="200") == 2
    assert value(text, requests, method="none", route="none", status="404") == 1
    assert value(text, requests, method="none", route="none", status="405") == 1
    assert value(text, "drumbeat_console_request_duration_seconds_count", route="/people/{phone}") == 2
    assert value(text, "drumbeat_console_streams") == 1
    assert orjson.loads(ready)["ready"] is True
    answered = [each for each in logs if each["event"] == "request_answered"]
    assert [each["route"] for each in answered[:2]] == ["/people/{phone}", "/people/{phone}"]
    assert answered[0]["address"] == "127.0.0.1" and answered[0]["caller"]
    assert str(PHONE) not in repr(logs)


async def test_a_console_whose_database_is_away_is_not_ready(pool: Pool, database_url: str) -> None:
    own = await asyncpg.create_pool(database_url, min_size=1, max_size=1)
    watch = DatabaseWatch(own)
    watching = asyncio.create_task(watch.run())
    assert watch.problems() == []
    own.terminate()
    await until(watch.problems)
    assert [problem.code for problem in watch.problems()] == ["database_away"]
    watching.cancel()
