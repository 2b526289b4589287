"""Everything that the document of the interface allows, and what it does not allow, is asked of every operation."""

import asyncio
from collections import Counter
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from drumbeat.campaigns.console.routes import document
from drumbeat.campaigns.console.web.request_limits import RequestLimits
from drumbeat.campaigns.console.web.roles import Role
from tests.console.conftest import NUMBER, PHONE, Caller

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
EXAMPLES = 40  # of each operation and mode
SECONDS_MAX = 30.0
# What exists, so that not every request ends at its name. A stream of a campaign that exists would not end.
REAL = {"name": "spring", "number": NUMBER, "phone": str(PHONE)}
LONG_LINE = "Got more than 8190 bytes"
STREAM = "/api/v1/campaigns/{name}/progress"
OPERATIONS = [
    (method.upper(), path) for path, operations in document()["paths"].items() for method in operations
]


@pytest.fixture(autouse=True)
def unlimited(monkeypatch: pytest.MonkeyPatch) -> None:
    """No request is refused because there were many before it."""
    monkeypatch.setattr(RequestLimits, "wait_s", lambda *_: 0.0)


def sweep(caller: Caller, method: str, path: str, mode: GenerationMode) -> Counter[int]:
    """Ask one operation many things; return how often each status was answered."""
    operation = schemathesis.openapi.from_dict(document())[path][method]
    statuses: Counter[int] = Counter()

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        if path != STREAM and sum(statuses.values()) % 2:
            case.path_parameters = {
                **(case.path_parameters or {}),
                **{name: REAL[name] for name in case.path_parameters or {} if name in REAL},
            }
        response = case.call(base_url=caller.url, headers=caller.headers, timeout=SECONDS_MAX)
        statuses[response.status_code] += 1
        if response.status_code == 400 and LONG_LINE in response.text:
            return  # the server refuses an address of more than 8 KiB before it is anybody's
        case.validate_response(response, checks=CHECKS)

    ask()
    return statuses


@pytest.mark.long
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
@pytest.mark.parametrize(("method", "path"), OPERATIONS)
async def test_no_request_fails_and_every_reply_is_documented(
    callers: dict[Role, Caller], method: str, path: str, mode: GenerationMode
) -> None:
    statuses = await asyncio.to_thread(sweep, callers[Role.MANAGE], method, path, mode)
    assert statuses
