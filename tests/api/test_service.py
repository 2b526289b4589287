"""The client against a service that sends pages, omits fields, refuses, or does not answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest

from drumbeat.engine.api import Service, ServiceError, Text
from drumbeat.engine.api.call_budget import BURST, LocalCallBudget
from drumbeat.engine.api.caller import ANSWER_BYTES_MAX
from drumbeat.engine.api.endpoints.numbers import NumberRecord
from drumbeat.engine.api.endpoints.templates import TemplateRecord
from drumbeat.engine.api.paging import PAGE_SIZE, PAGES_MAX
from drumbeat.engine.core.outcome import Scope
from drumbeat.engine.core.template.compiler import compile_template
from drumbeat.engine.errors import TryLater, Unreachable
from tests.kit.ports import free_port

from .loopback import Conversation, Script, Server, serving
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


async def numbers_of(client: Service) -> list[NumberRecord]:
    return [number async for number in client.numbers.list("77")]


async def templates_of(client: Service) -> list[TemplateRecord]:
    return [template async for template in client.templates.list("77")]


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
        Service(server.base_url, "the-token") as client,
    ):
        records = await templates_of(client)
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

    async with serving(pages(two_pages)) as server, Service(server.base_url, "t") as client:
        records = await templates_of(client)
    assert [record.name for record in records] == [f"t_{number}" for number in range(PAGE_SIZE + 1)]
    assert len(server.requests) == 2, "and none after a page that is not full"


async def test_a_template_record_compiles_and_its_absent_fields_are_empty() -> None:
    entry = {"name": "a", "language": "en", "components": [{"type": "BODY", "text": "{{1}}"}], "new": {}}
    script = pages(lambda _: {"data": [entry, {"name": "b", "language": "en"}, {"id": "9"}, 7]})
    async with serving(script) as server, Service(server.base_url, "t") as client:
        first, second = await templates_of(client)
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
    async with serving(script) as server, Service(server.base_url, "t") as client:
        first, second = await numbers_of(client)
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
        Service(server.base_url, "t") as client,
    ):
        (number,), (template,) = await numbers_of(client), await templates_of(client)
    texts = (number.phone_number_id, number.verified_name, number.status, template.name, template.status)
    assert texts == ("]0;a b",) * 5


async def test_a_cycle_of_cursors_ends() -> None:
    circle = pages(
        lambda query: {
            "data": [template(1)],
            "paging": {"next": "x", "cursors": {"after": "b" if query.get("after") == "a" else "a"}},
        }
    )
    async with serving(circle) as server, Service(server.base_url, "t") as client:
        with pytest.raises(ServiceError, match="pages"):
            await templates_of(client)
    assert len(server.requests) == PAGES_MAX


@pytest.mark.parametrize(
    ("status", "content", "exit_code"),
    [
        (401, {"error": {"code": 190, "message": "token expired"}}, 77),
        (400, {"error": {"code": 190, "message": "token expired"}}, 77),
        (403, {"error": {"code": 200, "message": "no permission"}}, 77),
        (401, b"nope", 77),
        (400, {"error": {"code": 80007, "message": "slow"}}, 75),
        (503, b"", 75),
        (404, b"", 78),
        (400, {"error": {"code": 100, "message": "unknown object"}}, 78),
        (400, {"error": {"code": 33, "message": "no such object"}}, 78),
        (418, {"error": {"code": 7777, "message": "odd"}}, 1),
        (302, b"", 1),
        (200, b"<html>a portal</html>", 1),
        (200, {"success": True}, 1),
        (200, {"data": {"id": "1"}}, 1),
        (200, b'{"data":"' + b"x" * (ANSWER_BYTES_MAX + 1) + b'"}', 1),
    ],
)
async def test_errors_say_what_where_and_what_to_do(status: int, content: Any, exit_code: int) -> None:
    async with (
        serving(pages(lambda _: content, status)) as server,
        Service(server.base_url, "secret") as client,
    ):
        with pytest.raises(ServiceError) as refused:
            await numbers_of(client)
    assert refused.value.exit_code == exit_code
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
        Service(server.base_url, "t") as client,
    ):
        with pytest.raises(ServiceError, match=words) as refused:
            await numbers_of(client)
    assert refused.value.wait_s == wait_s


async def test_a_refused_connection_is_unreachable() -> None:
    base_url = f"http://127.0.0.1:{free_port()}"
    async with Service(base_url, "t") as client:
        with pytest.raises(Unreachable, match=base_url) as gone:
            await numbers_of(client)
    assert gone.value.exit_code == 69


async def test_a_service_that_does_not_answer_is_unreachable() -> None:
    async def silent(server: Server, conversation: Conversation) -> None:
        await conversation.closed_by_client()

    async with serving(silent) as server, Service(server.base_url, "t", call_s=0.05) as client:
        with pytest.raises(Unreachable):
            await numbers_of(client)


async def test_an_error_has_code_subcode_meaning_scope_and_remedy() -> None:
    content = {"error": {"code": 132001, "error_subcode": 2494, "message": "(#132001) none", "new": []}}
    async with serving(pages(lambda _: content, 404)) as server, Service(server.base_url, "t") as client:
        with pytest.raises(ServiceError) as refused:
            await numbers_of(client)
    error = refused.value
    assert (error.service_code, error.subcode, error.status) == (132001, 2494, 404)
    assert (error.scope, error.exit_code) == (Scope.TEMPLATE, 1)
    assert "does not exist" in error.meaning
    assert "language" in error.remedy


async def test_an_answer_without_a_message_leaves_a_send_in_doubt() -> None:
    async with (
        serving(answering(200, b'{"success":true}', "X-A: 1")) as server,
        Service(server.base_url, "t") as client,
    ):
        with pytest.raises(ServiceError, match="look before you repeat"):
            await client.messages.send("1", "14155550101", Text("Hello"))
    assert len(server.requests) == 1, "a send is never repeated"


async def test_a_send_without_an_answer_may_have_been_accepted() -> None:
    async def silent(server: Server, conversation: Conversation) -> None:
        await server.read(conversation)
        await conversation.closed_by_client()

    async with serving(silent) as server, Service(server.base_url, "t", call_s=0.2) as client:
        with pytest.raises(Unreachable, match="may have carried the call out"):
            await client.messages.send("1", "14155550101", Text("Hello"))
    assert len(server.requests) == 1


async def test_the_hourly_budget_is_kept_and_names_the_wait() -> None:
    script = pages(lambda _: {"data": []})
    async with serving(script) as server, Service(server.base_url, "t") as client:
        for _ in range(BURST):
            await numbers_of(client)
        with pytest.raises(TryLater, match=r"200 .*try again in a minute") as spent:
            await numbers_of(client)
    assert len(server.requests) == BURST
    assert spent.value.wait_s == 36.0


async def test_messages_do_not_count_as_management_calls() -> None:
    sent = orjson.dumps({"messages": [{"id": "wamid.1"}]})
    budget = LocalCallBudget(1)
    async with serving(answering(200, sent, "X-A: 1")) as server:
        for _ in range(2):
            async with Service(server.base_url, "t", budget=budget) as client:
                message = await client.messages.send("1", "14155550101", Text("Hello"))
    assert (message.wamid, message.wa_id, message.held) == ("wamid.1", "", False)


class Refilled:
    """A budget that has a call again after the first wait."""

    def __init__(self) -> None:
        self.waits = [0.01, 0.0]

    async def spend(self) -> float:
        return self.waits.pop(0)


async def test_a_call_waits_for_the_budget_if_it_may() -> None:
    async with serving(pages(lambda _: {"data": []})) as server:
        async with Service(server.base_url, "t", budget=Refilled(), budget_wait_s_max=1.0) as client:
            assert await numbers_of(client) == []
        async with Service(server.base_url, "t", budget=Refilled()) as client:
            with pytest.raises(TryLater):
                await numbers_of(client)


async def test_clients_may_share_a_budget() -> None:
    budget = LocalCallBudget(2)
    async with serving(pages(lambda _: {"data": []})) as server:
        async with Service(server.base_url, "t", budget=budget) as client:
            await numbers_of(client)
        async with Service(server.base_url, "t", budget=budget) as client:
            await numbers_of(client)
            with pytest.raises(TryLater):
                await numbers_of(client)
