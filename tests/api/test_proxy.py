"""The HTTP proxy: only the proxy gets its credentials."""

from base64 import b64encode

import pytest
from pydantic import SecretStr
from yarl import URL

from drumbeat.engine.api import Service
from drumbeat.engine.api.proxy import Proxy, proxy_of
from drumbeat.engine.app import transport_of
from drumbeat.engine.core.outcome import NotSent
from drumbeat.engine.errors import Unreachable
from drumbeat.engine.process.settings import ServiceSettings

from .loopback import Conversation, Server, serving
from .transports import PAYLOAD, aclosing_transport, open_gate

PASSWORD = "s3cret/ü"
ASKS = b"proxy-authorization: basic " + b64encode(f"me:{PASSWORD}".encode()).lower()


async def refusing(server: Server, conversation: Conversation) -> None:
    await server.read(conversation)
    await conversation.answer(407, b"")


def assert_reported(proxy: Server) -> None:
    """It gets the credentials of the proxy, and not the token of the service."""
    head = proxy.requests[0].lower()
    assert head.startswith(b"connect service.invalid:443 ")
    assert ASKS in head
    assert b"bearer" not in head


def asked_by_me(proxy: Server) -> str:
    return proxy.base_url.replace("http://", "http://me:s3cret%2F%C3%BC@")


MY_NAME = {"Proxy-Authorization": "Basic bWU6"}
ME = {"Proxy-Authorization": "Basic bWU6c0A="}


@pytest.mark.parametrize(
    ("address", "service", "proxy"),
    [
        (None, "https://service", Proxy()),
        ("http://proxy:3128", "http://service", Proxy(URL("http://proxy:3128"))),
        ("http://me@proxy", "https://service", Proxy(URL("http://proxy"), MY_NAME)),
        ("http://me:s%40@proxy:1/", "http://service", Proxy(URL("http://proxy:1/"), ME, ME)),
    ],
)
def test_credentials_are_kept_apart_from_the_address(address: str | None, service: str, proxy: Proxy) -> None:
    assert proxy_of(address, service) == proxy


async def test_a_proxy_that_refuses_is_reported_without_its_password() -> None:
    async with serving(refusing) as proxy:
        settings = ServiceSettings(
            "https://service.invalid", SecretStr("t"), proxy_url=SecretStr(asked_by_me(proxy))
        )
        async with aclosing_transport(transport_of(settings)) as transport:
            outcome = await transport.send("1", PAYLOAD, open_gate)
    assert isinstance(outcome, NotSent)
    assert "407" in outcome.reason
    assert "s3cret" not in outcome.reason
    assert_reported(proxy)


async def test_an_error_of_a_management_call_shows_no_password() -> None:
    async with (
        serving(refusing) as proxy,
        Service("https://service.invalid", "t", proxy=asked_by_me(proxy)) as client,
    ):
        with pytest.raises(Unreachable, match=r"407.*PROXY_URL") as raised:
            [_ async for _ in client.numbers.list("1")]
    assert "s3cret" not in f"{raised.value}{raised.value.__cause__}"
    assert_reported(proxy)
