"""A sending process raises its limit of file descriptors, and opens no more connections than it allows."""

import resource
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from drumbeat.engine.api.lanes import LaneTransport
from drumbeat.engine.app import transport_of
from drumbeat.engine.core.connection_limit import CONNECTIONS_MAX, RESERVE, WANTED
from drumbeat.engine.process.file_descriptors import hard_limit, raise_limit
from drumbeat.engine.process.settings import ServiceSettings


@pytest.fixture
def low() -> Iterator[int]:
    """A soft limit like that of a login shell."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    yield 512
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


async def test_a_sender_asks_for_what_it_needs(low: int) -> None:
    transport = transport_of(ServiceSettings("http://service.invalid", SecretStr("t")))
    assert isinstance(transport, LaneTransport)
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    assert allowed == min(WANTED, hard_limit()) > low
    assert transport._connector.limit == min(CONNECTIONS_MAX, allowed - RESERVE)
    await transport.close()


def test_a_limit_that_cannot_be_raised_is_what_there_is(low: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("not allowed to raise maximum limit")

    monkeypatch.setattr(resource, "setrlimit", refuse)
    assert raise_limit() == low
    monkeypatch.undo()
