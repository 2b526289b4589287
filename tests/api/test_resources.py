"""Reads templates and numbers from a service that sends pages, omits fields, refuses, or does not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
from aiolimiter import AsyncLimiter

from engine.api.resources import CALLS_PER_HOUR, PAGE_BYTES_MAX, PAGE_SIZE, PAGES_MAX, ManagementClient
from engine.core.message import compile_template
from engine.errors import (
    AuthenticationError,
    ConfigurationError,
    DrumbeatError,
    ServiceError,
    TryLater,
    Unreachable,
)

from .loopback import Conversation, Script, Server, free_port, serving
from .transports import answering

Query = dict[str, str]


def pages(answer: Callable[[Query], Any], status: int = 200) -> Script:
    """Answers each GET with the result of `answer` for its query."""

    async def script(server: Server, conversation: Conversation) -> None:
        while request := await server.read(conversation):
            target = urlsplit(request.split(b" ")[1].decode())
            content = answer({name: values[0] for name, values in parse_qs(target.query).items()})
            await conversation.answer(
                status, content if isinstance(content, bytes) else orjson.dumps(content)
            )

    return script


def template(number: int) -> dict[str, Any]:
    return {
        "id": str(number),
        "name": f"t_{number}",
        "language": "en",
        "status": "APPROVED",
        "category": "UTILITY",
    }


def three_pages(query: Query) -> dict[str, Any]:
    begin = int(query.get("after", "0"))
    paging: dict[str, Any] = {"cursors": {"before": str(begin), "after": str(begin + 2)}}
    if begin < 4:
        paging["next"] = "https://elsewhere.example/"
    return {"data": [template(begin), template(begin + 1)], "paging": paging}


async def test_pages_are_followed_to_the_last() -> None:
    async with (
        serving(pages(three_pages)) as server,
        ManagementClient(server.base_url, "the-token") as client,
    ):
        records = await client.templates("77")
    assert [record.name for record in records] == [f"t_{number}" for number in range(6)]
    assert len(server.requests) == 3
    assert server.requests[0].startswith(b"GET /v22.0/77/message_templates?")
    assert b"Authorization: Bearer the-token" in server.requests[0]


async def test_a_full_page_without_a_next_link_may_have_a_next_page() -> None:
    """`next` is optional. The page after the cursor of a full page holds the rest, or nothing."""

    def two_pages(query: Query) -> dict[str, Any]:
        first, count = (PAGE_SIZE, 1) if "after" in query else (0, PAGE_SIZE)
        numbers = range(first, first + count)
        return {"data": [template(n) for n in numbers], "paging": {"cursors": {"after": str(numbers[-1])}}}

    async with serving(pages(two_pages)) as server, ManagementClient(server.base_url, "t") as client:
        records = await client.templates("77")
    assert [record.name for record in records] == [f"t_{number}" for number in range(PAGE_SIZE + 1)]
    assert len(server.requests) == 2, "and none after a page that is not full"


async def test_a_template_record_compiles_and_its_absent_fields_are_empty() -> None:
    entry = {"name": "a", "language": "en", "components": [{"type": "BODY", "text": "{{1}}"}], "new": {}}
    script = pages(lambda _: {"data": [entry, {"name": "b", "language": "en"}, {"id": "9"}, 7]})
    async with serving(script) as server, ManagementClient(server.base_url, "t") as client:
        first, second = await client.templates("77")
    assert len(compile_template(first.definition(), "chat").placeholders) == 1
    assert (second.components, second.parameter_format, second.status) == ([], "POSITIONAL", "")


async def test_numbers_with_and_without_their_fields() -> None:
    full = {
        "id": "1055",
        "display_phone_number": "+55 11",
        "verified_name": "Loja",
        "quality_rating": "GREEN",
        "messaging_limit_tier": "TIER_1K",
        "status": "CONNECTED",
        "throughput": {"level": "HIGH"},
    }
    script = pages(lambda _: {"data": [full, {"id": 1056, "throughput": "HIGH"}]})
    async with serving(script) as server, ManagementClient(server.base_url, "t") as client:
        first, second = await client.phone_numbers("77")
    assert (first.throughput_level, first.messaging_limit_tier, first.verified_name) == (
        "HIGH",
        "TIER_1K",
        "Loja",
    )
    assert (second.phone_number_id, second.quality_rating, second.throughput_level) == ("1056", "UNKNOWN", "")


async def test_texts_are_sanitised() -> None:
    entry = dict.fromkeys(
        ("id", "name", "language", "status", "category", "verified_name"), "\x1b]0;a\x07\nb"
    )
    async with (
        serving(pages(lambda _: {"data": [entry]})) as server,
        ManagementClient(server.base_url, "t") as client,
    ):
        (number,), (template,) = await client.phone_numbers("77"), await client.templates("77")
    texts = (number.phone_number_id, number.verified_name, number.status, template.name, template.status)
    assert texts == ("]0;a b",) * 5


async def test_a_cycle_of_cursors_ends() -> None:
    circle = pages(
        lambda query: {
            "data": [template(1)],
            "paging": {"next": "x", "cursors": {"after": "b" if query.get("after") == "a" else "a"}},
        }
    )
    async with serving(circle) as server, ManagementClient(server.base_url, "t") as client:
        with pytest.raises(ServiceError, match="pages"):
            await client.templates("77")
    assert len(server.requests) == PAGES_MAX


@pytest.mark.parametrize(
    ("status", "content", "expected"),
    [
        (401, {"error": {"code": 190, "message": "token expired"}}, AuthenticationError),
        (400, {"error": {"code": 190, "message": "token expired"}}, AuthenticationError),
        (403, {"error": {"code": 200, "message": "no permission"}}, AuthenticationError),
        (401, b"nope", AuthenticationError),
        (400, {"error": {"code": 80007, "message": "slow"}}, TryLater),
        (503, b"", TryLater),
        (404, b"", ConfigurationError),
        (400, {"error": {"code": 100, "message": "unknown object"}}, ConfigurationError),
        (400, {"error": {"code": 33, "message": "no such object"}}, ConfigurationError),
        (418, {"error": {"code": 7777, "message": "odd"}}, ServiceError),
        (302, b"", ServiceError),
        (200, b"<html>a portal</html>", ServiceError),
        (200, {"success": True}, ServiceError),
        (200, {"data": {"id": "1"}}, ServiceError),
        (200, b'{"data":"' + b"x" * (PAGE_BYTES_MAX + 1) + b'"}', ServiceError),
    ],
)
async def test_errors_say_what_where_and_what_to_do(
    status: int, content: Any, expected: type[DrumbeatError]
) -> None:
    async with (
        serving(pages(lambda _: content, status)) as server,
        ManagementClient(server.base_url, "secret") as client,
    ):
        with pytest.raises(DrumbeatError) as refused:
            await client.phone_numbers("77")
    assert type(refused.value) is expected
    assert "77/phone_numbers" in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize(
    ("header", "words", "wait_s"),
    [
        ("Retry-After: 90", "try again in 2 minutes", 90),
        (
            'X-Business-Use-Case-Usage: {"77":[{"type":"management","estimated_time_to_regain_access":42}]}',
            "try again in 42 minutes",
            2520,
        ),
        ("Retry-After: 7", "try again in a minute", 7),
        ("Retry-After: 0", "try again in some minutes", 0),
        ("X-Other: 1", "try again in some minutes", None),
    ],
)
async def test_the_remedy_names_the_wait_that_the_service_asks_for(
    header: str, words: str, wait_s: float | None
) -> None:
    spent = orjson.dumps({"error": {"code": 80007, "message": "slow"}})
    async with (
        serving(answering(400, spent, header)) as server,
        ManagementClient(server.base_url, "t") as client,
    ):
        with pytest.raises(TryLater, match=words) as refused:
            await client.phone_numbers("77")
    assert refused.value.wait_s == wait_s


async def test_a_refused_connection_is_unreachable() -> None:
    base_url = f"http://127.0.0.1:{free_port()}"
    async with ManagementClient(base_url, "t") as client:
        with pytest.raises(Unreachable, match=base_url) as gone:
            await client.phone_numbers("77")
    assert gone.value.exit_code == 69


async def test_a_service_that_does_not_answer_is_unreachable() -> None:
    async def silent(server: Server, conversation: Conversation) -> None:
        await conversation.closed_by_client()

    async with serving(silent) as server, ManagementClient(server.base_url, "t", call_s=0.05) as client:
        with pytest.raises(Unreachable):
            await client.phone_numbers("77")


async def test_the_hourly_budget_is_kept() -> None:
    script = pages(lambda _: {"data": []})
    async with serving(script) as server, ManagementClient(server.base_url, "t") as client:
        for _ in range(CALLS_PER_HOUR // 2):
            await client.phone_numbers("77")
        with pytest.raises(TryLater, match="200"):
            await client.phone_numbers("77")
    assert len(server.requests) == CALLS_PER_HOUR // 2


async def test_clients_may_share_a_budget() -> None:
    budget = AsyncLimiter(2, 3600)
    async with serving(pages(lambda _: {"data": []})) as server:
        async with ManagementClient(server.base_url, "t", budget=budget) as client:
            await client.phone_numbers("77")
        async with ManagementClient(server.base_url, "t", budget=budget) as client:
            await client.phone_numbers("77")
            with pytest.raises(TryLater):
                await client.phone_numbers("77")
