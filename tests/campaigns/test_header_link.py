"""A campaign whose header shows a link that cannot be shown is not started; only public addresses are asked."""

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta

import pytest
from aiohttp import web

from drumbeat.campaigns.campaign import find_campaign
from drumbeat.campaigns.life import header_link, template_check
from drumbeat.campaigns.life.header_link import NotAsked, ask_link, look_at_links
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.core.template.header_link import LinkAnswer
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Pool

NOW = datetime(2099, 1, 1, tzinfo=UTC)  # fixed: workers of a run must collect the same tests
PRIVATE = (
    "https://127.0.0.1/a.jpg", "https://10.0.0.7/a.jpg", "https://169.254.169.254/latest/meta-data",
    "https://[::1]/a.jpg", "https://192.168.1.1:8443/a.jpg", "https://localhost/a.jpg", "https://0.0.0.0/",
    "https://[::ffff:127.0.0.1]/a.jpg",
)  # fmt: skip


@asynccontextmanager
async def serving(status: int, headers: Mapping[str, str], body: bytes = b"x") -> AsyncIterator[str]:
    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, headers=headers, body=body)

    app = web.Application()
    app.router.add_get("/a.jpg", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/a.jpg"
    finally:
        await runner.cleanup()


@pytest.mark.parametrize("link", PRIVATE)
async def test_an_address_that_is_not_public_is_not_asked(link: str) -> None:
    with pytest.raises(NotAsked, match="not public"):
        await ask_link(link)


@pytest.mark.parametrize(
    ("status", "headers", "answer"),
    [
        (200, {"Content-Type": "image/jpeg"}, LinkAnswer(200, "image/jpeg", 1)),
        (
            206,
            {"Content-Type": "image/png", "Content-Range": "bytes 0-0/4711"},
            LinkAnswer(200, "image/png", 4711),
        ),
        (404, {"Content-Type": "text/html"}, LinkAnswer(404, "text/html", None)),
        (
            302,
            {"Content-Type": "image/png", "Location": "http://127.0.0.1/"},
            LinkAnswer(302, "image/png", None),
        ),
    ],
)
async def test_what_a_server_answers(status: int, headers: dict[str, str], answer: LinkAnswer) -> None:
    async with serving(status, headers) as url:
        assert await ask_link(url, only_public=False) == answer


async def test_a_server_that_is_away_is_not_asked() -> None:
    with pytest.raises(NotAsked, match="does not answer here"):
        await ask_link("http://127.0.0.1:9/a.jpg", only_public=False)


def showing(link: str) -> list[CampaignTemplate]:
    definition = {"components": [{"type": "HEADER", "format": "IMAGE"}]}
    return [CampaignTemplate("offer", "en", definition, Media(link=link))]


SIGNED = f"X-Amz-Date={NOW:%Y%m%dT%H%M%SZ}&X-Amz-Expires="


@pytest.mark.parametrize(
    ("link", "answer", "words", "is_problem"),
    [
        ("https://x.example/a.jpg", LinkAnswer(200, "image/jpeg", 9), None, False),
        ("https://x.example/a.jpg", LinkAnswer(404, "", None), "it answers 404", True),
        ("https://x.example/a.jpg", LinkAnswer(200, "text/html", 9), "text/html", True),
        ("https://x.example/a.jpg", None, "was not looked at", False),
        (
            f"https://x.example/a.jpg?{SIGNED}3600",
            LinkAnswer(200, "image/jpeg", 9),
            "before the campaign",
            True,
        ),
        (f"https://x.example/a.jpg?{SIGNED}360000", LinkAnswer(200, "image/jpeg", 9), "nobody gets", False),
    ],
)
async def test_what_people_are_told_before_the_start(
    monkeypatch: pytest.MonkeyPatch, link: str, answer: LinkAnswer | None, words: str | None, is_problem: bool
) -> None:
    async def ask(_: str) -> LinkAnswer:
        if answer is None:
            raise NotAsked("away")
        return answer

    monkeypatch.setattr(header_link, "ask_link", ask)
    found = await look_at_links(showing(link), NOW + timedelta(hours=2))
    assert len(found) == (words is not None)
    for seen in found:
        assert words is not None and words in seen.words and "X-Amz" not in seen.link
        assert seen.is_problem is is_problem


async def test_a_template_without_a_link_asks_nobody() -> None:
    assert await look_at_links([CampaignTemplate("offer", "en", {}, None)], NOW) == []


@pytest.mark.parametrize("started", [False, True])
async def test_a_campaign_with_such_a_link_is_not_started(
    ready: str, pool: Pool, spec: CampaignSpec, monkeypatch: pytest.MonkeyPatch, started: bool
) -> None:
    await create_campaign(ready, spec)
    seen = header_link.SeenLink("https://x.example/a.jpg", "the link cannot be shown: it answers 404", True)

    async def look(*_: object) -> list[header_link.SeenLink]:
        return [seen]

    monkeypatch.setattr(template_check, "look_at_links", look)
    if started:
        await pool.execute("UPDATE campaigns SET state = 'running', started_at = now()")
    check = template_check.TemplateCheck(pool, None)
    campaign = await find_campaign(pool, "spring")
    if started:
        await check(campaign)
        assert seen.words in check.notes
    else:
        with pytest.raises(ConfigurationError, match=r"not started: .* answers 404 .*x\.example/a\.jpg"):
            await check(campaign)
