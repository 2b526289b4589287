"""The document: complete, and kept by the service under generated requests, valid and invalid ones."""

import asyncio
import contextlib
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from drumbeat.emulator.config import EmulatorConfig
from drumbeat.emulator.document.build import build_document, operations
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.routes import routes
from drumbeat.emulator.testing import running_emulator

CONFIG = EmulatorConfig(port=0, management_calls_per_hour=10**9)
# The page's own files are for browsers, metrics for Prometheus, and the document does not describe itself.
UNDOCUMENTED = {("GET", "/"), ("GET", "/page/{name}"), ("GET", "/openapi.json"), ("GET", "/metrics")}
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    unsupported_method,
]
# What a generated request asks about; any other id would only show that it does not exist.
IDS = {
    "phone_numbers": CONFIG.waba,
    "message_templates": CONFIG.waba,
    "subscribed_apps": CONFIG.waba,
    "subscriptions": CONFIG.app_id,
}
# Calls that would end the fun for all that follow: files of this machine, faults that break connections.
LEFT_OUT = {"POST /_emulator/snapshot", "POST /_emulator/faults", "POST /_emulator/scenario"}


def test_every_route_is_documented_and_nothing_else() -> None:
    known = {(route.method, route.pattern) for route in routes(MessagingService(CONFIG))} - UNDOCUMENTED
    assert known == set(operations(CONFIG))


def test_it_is_openapi() -> None:
    schemathesis.openapi.from_dict(build_document(CONFIG, "http://x")).validate()


def test_every_member_that_a_command_takes_is_documented(url: str) -> None:
    """The error for an unknown member lists the members that the command takes."""
    named = set()
    for (method, path), operation in operations(CONFIG).items():
        if method != "POST" or operation.request is None or not path.startswith("/_emulator/"):
            continue
        with pytest.raises(urllib.error.HTTPError) as refused:
            urllib.request.urlopen(url + path.replace("{name}", "order_shipped"), b'{"zzz":1}', timeout=60)
        if takes := re.search("this takes (.*), not zzz", refused.value.read().decode()):
            named.add(path)
            assert set(operation.request["properties"]) == set(takes[1].split(", ")), path
    assert len(named) == 14


def test_the_products_word_stands_where_it_belongs() -> None:
    document = build_document(EmulatorConfig(product="talk"), "http://x")
    assert "/v22.0/{id}/talk_business_profile" in document["paths"]
    reply = document["components"]["schemas"]["SendReply"]["anyOf"][0]
    assert reply["properties"]["messaging_product"] == {"const": "talk"}
    assert "chat" not in str(document).replace("chats", "")


@contextlib.contextmanager
def served() -> Iterator[str]:
    """An emulator on a thread of its own, because schemathesis asks without waiting."""
    started, box = threading.Event(), dict[str, Any]()

    async def serve() -> None:
        box["stop"], box["loop"] = asyncio.Event(), asyncio.get_running_loop()
        async with running_emulator(CONFIG) as emulator:
            box["url"] = emulator.url
            started.set()
            await box["stop"].wait()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert started.wait(60)
        yield box["url"]
    finally:
        box["loop"].call_soon_threadsafe(box["stop"].set)
        thread.join(60)


def _operations() -> list[str]:
    document = build_document(CONFIG, "http://x")
    every = [f"{method.upper()} {path}" for path, methods in document["paths"].items() for method in methods]
    return [each for each in every if each not in LEFT_OUT]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with served() as running:
        yield running


def _cases() -> list[tuple[str, GenerationMode]]:
    """Wrong requests too, where there is anything to get wrong."""
    paths = build_document(CONFIG, "http://x")["paths"]
    cases = [(operation, GenerationMode.POSITIVE) for operation in _operations()]
    for operation in _operations():
        method, path = operation.split(" ")
        described = paths[path][method.lower()]
        if described["parameters"] or "requestBody" in described:
            cases.append((operation, GenerationMode.NEGATIVE))
    return cases


@pytest.mark.parametrize(("operation", "mode"), _cases())
def test_the_service_keeps_its_document(url: str, operation: str, mode: GenerationMode) -> None:
    method, path = operation.split(" ")
    schema = schemathesis.openapi.from_url(f"{url}/openapi.json")
    object_id = IDS.get(path.rsplit("/", 1)[-1], CONFIG.numbers[1].id)

    @given(schema[path][method].as_strategy(generation_mode=mode))
    @settings(max_examples=15, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    def ask(case: Any) -> None:
        if "id" in case.path_parameters:
            case.path_parameters["id"] = object_id
        case.call_and_validate(headers={"Authorization": f"Bearer {CONFIG.token}"}, checks=CHECKS)

    ask()
