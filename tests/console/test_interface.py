"""The interface keeps its document: every operation is driven, and every reply has the shape that is documented."""

import asyncio
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import orjson
import pytest
import schemathesis
from jsonschema import Draft202012Validator

from drumbeat.campaigns.console.routes import ROWS, document
from drumbeat.campaigns.console.web.operations import PREFIX
from drumbeat.campaigns.console.web.problems import CONTENT_TYPE
from drumbeat.engine.store.database import Pool
from tests.console.conftest import BAD_CODE, NUMBER, PHONE, Caller, Reply

OPERATIONS = [row.operation for row in ROWS if row.operation is not None]
KEY = {"Idempotency-Key": "k-1"}
SPEC = {
    "name": "autumn",
    "template": "order",
    "language": "en",
    "number": [NUMBER],
    "param": ["name", "order"],
}


def form(spec: dict[str, Any], rows: str = f"+{PHONE},Ana,A1\nnot a number,Bo,A2\n") -> aiohttp.FormData:
    data = aiohttp.FormData()
    data.add_field("spec", json.dumps(spec), content_type="application/json")
    data.add_field("audience", f"phone,name,order\n{rows}", filename="people.csv", content_type="text/csv")
    return data


def suppression_form() -> aiohttp.FormData:
    data = aiohttp.FormData()
    data.add_field("spec", "{}", content_type="application/json")
    data.add_field("file", f"phone\n+{PHONE + 5}\nnonsense\n", filename="list.csv")
    return data


def audience(name: str, rows: str = f"+{PHONE},Ana,A1\nnot a number,Bo,A2\n") -> aiohttp.FormData:
    data = aiohttp.FormData()
    data.add_field("audience", rows and f"phone,name,order\n{rows}", filename=name)
    return data


MESSAGE = {
    "to": f"+{PHONE + 60}",
    "number": NUMBER,
    "template": "order",
    "language": "en",
    "params": ["Ana", "A1"],
}
CORRECTION = {"rows": [{"line": 3, "cells": [f"+{PHONE + 1}", "Bo", "A2"]}]}
# Method, path as documented, path as asked, what is sent, and the status. In this order: some need what others made.
CALLS: list[tuple[str, str, str, dict[str, Any], int]] = [
    ("GET", "/campaigns", "/campaigns?limit=1", {}, 200),
    ("DELETE", "/people/{phone}", f"/people/{PHONE + 2}", {}, 409),  # in doubt
    ("GET", "/campaigns/{name}", "/campaigns/spring", {}, 200),
    ("GET", "/campaigns/{name}", "/campaigns/sprign", {}, 404),
    ("GET", "/campaigns/{name}/report", "/campaigns/spring/report", {}, 200),
    ("GET", "/campaigns/{name}/results", "/campaigns/spring/results", {}, 200),
    ("GET", "/campaigns/{name}/recipients", "/campaigns/spring/recipients?limit=2", {}, 200),
    ("GET", "/campaigns/{name}/recipients", "/campaigns/spring/recipients?after=x", {}, 422),
    ("GET", "/campaigns/{name}/preview", "/campaigns/spring/preview?row=3", {}, 200),
    ("GET", "/campaigns/{name}/plan", "/campaigns/spring/plan", {}, 200),
    ("POST", "/campaigns", "/campaigns", {"data": form(SPEC)}, 200),
    ("POST", "/campaigns", "/campaigns", {"data": form({**SPEC, "template": "nothing", "name": "other"})}, 422),
    ("POST", "/campaigns", "/campaigns", {"json": SPEC}, 415),
    ("POST", "/messages", "/messages", {"json": MESSAGE, "headers": KEY}, 201),
    ("POST", "/messages", "/messages", {"json": MESSAGE}, 400),
    ("POST", "/messages", "/messages", {"json": {**MESSAGE, "to": "nobody"}, "headers": {"Idempotency-Key": "k-2"}}, 422),
    ("POST", "/lists", "/lists", {"data": audience("people.csv")}, 201),
    ("POST", "/lists", "/lists", {"data": audience("people.csv", "")}, 422),
    ("POST", "/lists/{reference}/check", "/lists/{reference}/check", {"json": {}}, 200),
    ("POST", "/lists/{reference}/check", "/lists/{reference}/check", {"json": {"phone_column": "mobile"}}, 422),
    ("POST", "/lists/{reference}/check", "/lists/0/check", {"json": {}}, 404),
    ("POST", "/lists/{reference}/corrections", "/lists/{reference}/corrections", {"json": CORRECTION}, 200),
    ("POST", "/lists/{reference}/campaign", "/lists/{reference}/campaign", {"json": {**SPEC, "name": "listed", "dry_run": True}}, 200),
    ("DELETE", "/lists/{reference}", "/lists/{reference}", {}, 200),
    ("POST", "/campaigns/{name}/test-sends", "/campaigns/spring/test-sends", {"json": {"phones": [f"+{PHONE + 50}"]}, "headers": KEY}, 201),
    ("POST", "/campaigns/{name}/test-sends", "/campaigns/spring/test-sends", {"json": {"phones": [f"+{PHONE}"]}}, 400),
    ("POST", "/campaigns/{name}/clones", "/campaigns/autumn/clones", {"json": {"name": "winter", "changes": {"window": "09:00-20:00"}}}, 200),
    ("POST", "/campaigns/{name}/clones", "/campaigns/autumn/clones", {"json": {"name": "x", "changes": {"audience": "/etc/passwd"}}}, 422),
    ("PATCH", "/campaigns/{name}", "/campaigns/winter", {"json": {"changes": {"window": "10:00-20:00"}}}, 200),
    ("PATCH", "/campaigns/{name}", "/campaigns/winter", {"json": {"changes": {"name": "other"}}}, 422),
    ("PATCH", "/campaigns/{name}", "/campaigns/winter", {"json": {"changes": {"nothing": 1}}}, 422),
    ("DELETE", "/campaigns/{name}", "/campaigns/winter", {}, 200),
    ("DELETE", "/campaigns/{name}", "/campaigns/winter", {}, 404),
    ("POST", "/campaigns/{name}/retries", "/campaigns/spring/retries", {"json": {"code": [BAD_CODE]}}, 200),
    ("GET", "/campaigns/{name}/doubts", "/campaigns/spring/doubts", {}, 200),
    ("POST", "/campaigns/{name}/doubts", "/campaigns/spring/doubts", {"json": {"action": "assume-sent"}}, 200),
    ("POST", "/campaigns/{name}/doubts", "/campaigns/spring/doubts", {"json": {"action": "hope"}}, 422),
    ("POST", "/campaigns/{name}/suppressions", "/campaigns/spring/suppressions", {"json": {"code": [BAD_CODE]}}, 200),
    ("POST", "/campaigns/{name}/suppressions", "/campaigns/spring/suppressions", {"json": {}}, 422),
    ("GET", "/campaigns/{name}/replies", "/campaigns/spring/replies", {}, 200),
    ("GET", "/replies", "/replies?limit=1", {}, 200),
    ("GET", "/replies", "/replies?before=x", {}, 422),
    ("POST", "/campaigns/{name}/start", "/campaigns/spring/start", {}, 200),
    ("POST", "/campaigns/{name}/pause", "/campaigns/spring/pause", {}, 200),
    ("POST", "/campaigns/{name}/start", "/campaigns/spring/start", {}, 409),
    ("POST", "/campaigns/{name}/resume", "/campaigns/spring/resume", {}, 200),
    ("POST", "/campaigns/{name}/accept-category", "/campaigns/spring/accept-category", {}, 200),
    ("POST", "/campaigns/{name}/approve", "/campaigns/spring/approve", {}, 422),
    ("POST", "/campaigns/{name}/cancel", "/campaigns/spring/cancel", {}, 200),
    ("POST", "/campaigns/{name}/pause", "/campaigns/spring/pause", {}, 409),
    ("GET", "/people/{phone}", f"/people/{PHONE}", {}, 200),
    ("GET", "/people/{phone}", "/people/12", {}, 422),
    ("DELETE", "/people/{phone}", f"/people/{PHONE}", {}, 200),
    ("GET", "/numbers", "/numbers", {}, 200),
    ("PUT", "/numbers/{number}/limit", f"/numbers/{NUMBER}/limit", {"json": {"limit_per_s": 12.5}}, 200),
    ("PUT", "/numbers/{number}/limit", f"/numbers/{NUMBER}/limit", {"json": {"limit_per_s": -1}}, 422),
    ("POST", "/numbers/{number}/resume", f"/numbers/{NUMBER}/resume", {}, 200),
    ("POST", "/numbers/{number}/resume", "/numbers/9/resume", {}, 404),
    ("GET", "/templates", "/templates", {}, 200),
    ("GET", "/templates/{name}", "/templates/order", {}, 200),
    ("POST", "/suppressions", "/suppressions", {"json": {"phones": [f"+{PHONE}"]}}, 200),
    ("POST", "/suppressions", "/suppressions", {"json": {"phones": "all"}}, 422),
    ("POST", "/suppressions/import", "/suppressions/import", {"data": suppression_form()}, 200),
    ("GET", "/suppressions", "/suppressions", {}, 200),
    ("DELETE", "/suppressions/{phone}", f"/suppressions/{PHONE}", {}, 200),
    ("GET", "/events", "/events", {}, 404),  # nobody subscribed
    ("POST", "/subscriptions", "/subscriptions", {"json": {"name": "crm", "url": "https://crm.example/drumbeat", "kinds": ["read"]}}, 201),
    ("POST", "/subscriptions", "/subscriptions", {"json": {"name": "crm", "campaign": "spring"}}, 422),
    ("POST", "/subscriptions", "/subscriptions", {"json": {"name": "erp", "url": "http://crm.example/"}}, 422),
    ("GET", "/subscriptions", "/subscriptions", {}, 200),
    ("GET", "/subscriptions/{name}", "/subscriptions/crm", {}, 200),
    ("GET", "/subscriptions/{name}", "/subscriptions/erp", {}, 404),
    ("GET", "/events", "/events?after=0&limit=2&kind=read&kind=failed&campaign=spring", {}, 200),
    ("GET", "/events", "/events?after=-1", {}, 422),
    ("DELETE", "/subscriptions/{name}", "/subscriptions/crm", {}, 200),
    ("GET", "/audit", "/audit?limit=2", {}, 200),
    ("PUT", "/users/{name}", "/users/ana", {"json": {"role": "send"}}, 422),  # nobody would manage
    ("PUT", "/users/{name}", "/users/boss", {"json": {"role": "manage"}}, 200),
    ("PUT", "/users/{name}", "/users/ana", {"json": {"role": "send"}}, 200),
    ("PUT", "/users/{name}", "/users/ana", {"json": {"role": "send", "password": "short"}}, 422),
    ("GET", "/users", "/users", {}, 200),
    ("DELETE", "/users/{name}/sessions", "/users/ana/sessions", {}, 200),
    ("DELETE", "/users/{name}", "/users/ana", {}, 200),
    ("POST", "/tokens", "/tokens", {"json": {"name": "reports", "role": "look"}}, 201),
    ("POST", "/tokens", "/tokens", {"json": {"name": "reports", "role": "look"}}, 422),
    ("GET", "/tokens", "/tokens", {}, 200),
    ("DELETE", "/tokens/{name}", "/tokens/reports", {}, 200),
]  # fmt: skip
# Only its refusal is driven: a canary takes a sender. tests/campaigns has the rest.
NO_CANARY = {("POST", "/campaigns/{name}/approve")}
# Driven beside the emulator, by test_account_at_service.py and test_template_pages.py.
AT_SERVICE = {
    ("POST", "/templates"),
    ("POST", "/templates/sync"),
    ("DELETE", "/templates/{name}"),
    ("POST", "/numbers/sync"),
}
NO_JSON = {
    ("GET", "/campaigns/{name}/progress"),
    ("GET", "/campaigns/{name}/export"),
    ("GET", "/jobs/{reference}"),
    ("GET", "/suppressions/export"),
}  # tests of their own below


def closed(schema: Any) -> Any:
    """The same schema, in which an object has no members that are not documented."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {key: closed(value) for key, value in schema.items()}
    return {"additionalProperties": False, **found} if "properties" in schema else found


DOCUMENT = closed(document())


def require_documented(method: str, path: str, reply: Reply) -> None:
    responses = DOCUMENT["paths"][PREFIX + path][method.lower()]["responses"]
    described = responses.get(str(reply.status), responses["default"])
    media_type = reply.headers["Content-Type"].partition(";")[0]
    schema = {**described["content"][media_type]["schema"], "components": DOCUMENT["components"]}
    Draft202012Validator(schema).validate(reply.body)


def test_the_document_is_openapi() -> None:
    schemathesis.openapi.from_dict(document()).validate()


def test_every_operation_has_a_name_of_its_own() -> None:
    names = [each["operationId"] for path in document()["paths"].values() for each in path.values()]
    assert len(names) == len(set(names)) == len(OPERATIONS)
    assert {"create_campaign", "list_campaign_recipients", "start_campaign", "sync_numbers"} <= set(names)
    assert not [name for name in names if not re.fullmatch("[a-z]+(_[a-z]+)+", name)]


def test_no_member_has_the_name_of_its_class() -> None:
    """Generators name variables by both: a client of such a class has wrong types, or does not compile."""
    schemas = document()["components"]["schemas"]
    same = [
        name
        for name, each in schemas.items()
        if re.sub(r"(?<!^)(?=[A-Z])", "_", name).lower() in each.get("properties", {})
    ]
    assert same == []


async def test_every_operation_keeps_the_document(manager: Caller) -> None:
    uploaded = ""
    for method, path, asked, sent, status in CALLS:
        reply = await manager(method, PREFIX + asked.replace("{reference}", uploaded), **sent)
        if status == 201 and path == "/lists":
            uploaded = reply.body["reference"]
        assert reply.status == status, (method, asked, reply.text)
        if status >= 400:
            assert reply.headers["Content-Type"].startswith(CONTENT_TYPE)
            assert reply.body["status"] == status
        require_documented(method, path, reply)
    driven = {(method, path) for method, path, _, _, status in CALLS if status < 400}
    assert driven | NO_JSON | NO_CANARY | AT_SERVICE == {(each.method, each.path) for each in OPERATIONS}


async def test_the_document_is_served_to_everybody(url: str) -> None:
    reply = await Caller(url).get(f"{PREFIX}/openapi.json")
    assert reply.body == orjson.loads(orjson.dumps(document()))


async def test_pages_of_recipients_hold_each_recipient_once(manager: Caller) -> None:
    phones: list[str] = []
    after, pages = "", 0
    while pages < 20:
        page = (await manager.get(f"{PREFIX}/campaigns/spring/recipients?limit=3&after={after}")).body
        phones += [each["phone"] for each in page["recipients"]]
        pages, after = pages + 1, page["next"]
        if after is None:
            break
    assert phones == [str(PHONE + row) for row in range(10)]


@pytest.mark.parametrize(
    ("query", "offsets"),
    [
        ("state=read", [0]),
        ("state=failed", [1]),
        (f"code={BAD_CODE}", [1]),
        ("code=1", []),
        ("state=unknown", [2]),
    ],
)
async def test_recipients_are_found_by_state_and_code(
    manager: Caller, query: str, offsets: list[int]
) -> None:
    page = (await manager.get(f"{PREFIX}/campaigns/spring/recipients?{query}")).body
    assert [int(each["phone"]) - PHONE for each in page["recipients"]] == offsets
    assert page["next"] is None


async def test_a_person_has_every_attempt_and_reply(manager: Caller) -> None:
    person = (await manager.get(f"{PREFIX}/people/{PHONE}")).body
    (one,) = person["campaigns"]
    assert (one["campaign"], one["state"], [each["state"] for each in one["attempts"]]) == (
        "spring",
        "read",
        ["read"],
    )
    assert [reply["text"] for reply in person["replies"]] == ["Thank you <3"]
    in_doubt = (await manager.get(f"{PREFIX}/people/{PHONE + 2}")).body["campaigns"][0]
    assert [each["state"] for each in in_doubt["attempts"]] == ["in_doubt"]


async def test_the_export_is_csv_of_all(manager: Caller) -> None:
    reply = await manager.get(f"{PREFIX}/campaigns/spring/export?state=failed")
    lines = reply.text.splitlines()
    assert reply.headers["Content-Type"].startswith("text/csv")
    assert (
        lines[0].startswith("\ufeffphone,state,code")
        and len(lines) == 2
        and lines[1].startswith(f"+{PHONE + 1},failed")
    )


async def events(reply: aiohttp.ClientResponse) -> AsyncIterator[tuple[str, Any]]:
    name = ""
    async for line in reply.content:
        text = line.decode().rstrip("\n")
        if text.startswith("event: "):
            name = text.removeprefix("event: ")
        elif text.startswith("data: "):
            yield name, orjson.loads(text.removeprefix("data: "))


async def test_progress_is_a_stream_of_what_changed(manager: Caller, pool: Pool) -> None:
    async with (
        asyncio.timeout(30),
        aiohttp.ClientSession(headers=manager.headers) as session,
        session.get(f"{manager.url}{PREFIX}/campaigns/spring/progress") as reply,
    ):
        assert reply.content_type == "text/event-stream"
        stream = events(reply)
        name, status = await anext(stream)
        assert (name, status["counts"]["failed"]) == ("progress", 1)
        await pool.execute("UPDATE range_counters SET failed = 2 WHERE failed = 1")
        _, status = await anext(stream)
        assert status["counts"]["failed"] == 2


async def test_a_repeated_request_with_a_key_is_done_once(manager: Caller, pool: Pool) -> None:
    path, body = f"{PREFIX}/campaigns/spring/test-sends", {"phones": [f"+{PHONE + 50}"]}
    first = await manager.post(path, json=body, headers=KEY)
    again = await manager.post(path, json=body, headers=KEY)
    assert (first.status, again.status) == (201, 201)
    assert first.body == again.body == {"campaigns": ["spring/test-1"], "nobody_sends": True}
    other = await manager.post(path, json={"phones": [f"+{PHONE + 51}"]}, headers=KEY)
    assert (other.status, other.code) == (422, "key_reused")
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 2


async def test_a_key_whose_request_was_interrupted_does_nothing_again(manager: Caller, pool: Pool) -> None:
    path, body = f"{PREFIX}/campaigns/spring/test-sends", {"phones": [f"+{PHONE + 50}"]}
    await manager.post(path, json=body, headers=KEY)
    await pool.execute("UPDATE console_requests SET status = NULL, reply = NULL")
    again = await manager.post(path, json=body, headers=KEY)
    assert (again.status, again.code) == (409, "key_in_use")
    assert await pool.fetchval("SELECT count(*) FROM campaigns") == 2


async def test_a_refused_request_may_be_repeated_with_its_key(manager: Caller) -> None:
    path = f"{PREFIX}/campaigns/spring/test-sends"
    assert (await manager.post(path, json={"phones": ["nonsense"]}, headers=KEY)).status == 422
    assert (await manager.post(path, json={"phones": [f"+{PHONE}"]}, headers=KEY)).status == 201


async def test_each_action_is_audited_with_who(manager: Caller) -> None:
    await manager.post(f"{PREFIX}/campaigns", data=form(SPEC))
    await manager.post(f"{PREFIX}/campaigns/spring/start")
    await manager.post(f"{PREFIX}/suppressions", json={"phones": [f"+{PHONE}"]})
    await manager("PUT", f"{PREFIX}/numbers/{NUMBER}/limit", json={"limit_per_s": 5})
    entries = (await manager.get(f"{PREFIX}/audit")).body["entries"]
    found = [(each["actor"], each["action"], each["campaign"]) for each in entries[:4]]
    who = "token of-manage"
    assert found == [
        (who, "number-limit", None),
        (who, "suppress", None),
        (who, "start", "spring"),
        (who, "create", "autumn"),
    ]
    assert not re.search(str(PHONE), json.dumps(entries))
