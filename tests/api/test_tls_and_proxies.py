"""The transport through TLS and through HTTP proxies."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from drumbeat.campaigns.life.run import require_reachable
from drumbeat.engine.api.lanes import LaneTransport
from drumbeat.engine.api.service import service_of
from drumbeat.engine.api.trust import CA_REMEDY, trust_of
from drumbeat.engine.app import transport_of
from drumbeat.engine.core.outcome import Accepted, NotSent
from drumbeat.engine.errors import ConfigurationError, Unreachable
from drumbeat.engine.process.settings import ServiceSettings
from tests.api.lanes import lanes
from tests.kit.certificates import make_certificate

from .loopback import Conversation, Server, serving
from .transports import ACCEPTED, PAYLOAD, aclosing_transport, answering, open_gate


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A certificate for localhost and its key, made for this run."""
    return make_certificate(tmp_path_factory.mktemp("tls"))


@asynccontextmanager
async def tls_server(certificate: tuple[Path, Path]) -> AsyncIterator[Server]:
    chain, key = certificate
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(chain, key)
    async with serving(answering(200, ACCEPTED), tls=context) as server:
        yield server


class TestTls:
    async def test_sends_through_tls(self, certificate: tuple[Path, Path]) -> None:
        trust = ssl.create_default_context(cafile=str(certificate[0]))
        async with (
            tls_server(certificate) as server,
            aclosing_transport(LaneTransport(server.base_url, "the-token", tls=trust)) as transport,
        ):
            for _ in range(3):
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert (server.connections, len(server.requests)) == (1, 3)

    async def test_nothing_is_sent_to_an_untrusted_certificate(self, certificate: tuple[Path, Path]) -> None:
        async with (
            tls_server(certificate) as server,
            aclosing_transport(LaneTransport(server.base_url, "the-token")) as transport,
        ):
            outcome = await transport.send("1", PAYLOAD, open_gate)
        assert isinstance(outcome, NotSent)
        assert outcome.unreachable
        assert server.requests == []


class TestTrust:
    async def test_the_setting_reaches_the_transport_and_the_calls(
        self, certificate: tuple[Path, Path]
    ) -> None:
        async with tls_server(certificate) as server:
            service = ServiceSettings(server.base_url, SecretStr("t"), ca_file=certificate[0])
            await require_reachable(service)
            async with aclosing_transport(transport_of(service)) as transport:
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
            async with service_of(service) as client:
                assert await client.numbers.get("1")

    async def test_what_is_not_trusted_is_named_with_the_setting(
        self, certificate: tuple[Path, Path]
    ) -> None:
        async with tls_server(certificate) as server:
            service = ServiceSettings(server.base_url, SecretStr("t"))
            with pytest.raises(Unreachable, match=r"certificate is not trusted \(self-signed") as run:
                await require_reachable(service)
            async with service_of(service) as client:
                with pytest.raises(Unreachable, match=r"certificate is not trusted \(self-signed") as call:
                    await client.numbers.get("1")
        for found in (run.value, call.value):
            assert (found.exit_code, found.remedy) == (69, CA_REMEDY)
        assert server.requests == []

    @pytest.mark.parametrize("content", [None, b"", b"-----BEGIN CERTIFICATE-----\nno\n"])
    def test_a_file_that_holds_no_certificate_is_named(self, tmp_path: Path, content: bytes | None) -> None:
        file = tmp_path / "authority.pem"
        if content is not None:
            file.write_bytes(content)
        with pytest.raises(ConfigurationError) as found:
            trust_of(file)
        assert found.value.where == str(file) and "DRUMBEAT_CA_FILE" in found.value.remedy


async def proxying(server: Server, conversation: Conversation) -> None:
    """Answers HTTP requests itself, and opens a tunnel for CONNECT."""
    while head := await server.read(conversation):
        if head.startswith(b"CONNECT"):
            host, port = head.split()[1].decode().split(":")
            await conversation.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await conversation.join(host, int(port))
            return
        await conversation.answer(200, ACCEPTED)


class TestProxies:
    async def test_the_setting_reaches_the_transport(self) -> None:
        async with serving(proxying) as proxy:
            address = SecretStr(proxy.base_url.replace("http://", "http://user:secret@"))
            service = ServiceSettings("http://service.invalid", SecretStr("t"), proxy_url=address)
            async with aclosing_transport(transport_of(service)) as transport:
                assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert b"\r\nproxy-authorization: basic " in proxy.requests[0].lower()

    async def test_a_proxy_without_a_tunnel_gets_the_whole_url(self) -> None:
        async with serving(proxying) as proxy:
            address = proxy.base_url.replace("http://", "http://user:secret@")
            async with lanes("http://service.invalid", proxy=address) as transport:
                for _ in range(2):
                    assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
        assert proxy.connections == 1
        head = proxy.requests[0].lower()
        assert head.startswith(b"post http://service.invalid/v22.0/1/messages http/1.1\r\n")
        assert b"\r\nhost: service.invalid\r\n" in head
        assert b"\r\nproxy-authorization: basic " in head

    async def test_tls_goes_through_a_tunnel(self, certificate: tuple[Path, Path]) -> None:
        trust = ssl.create_default_context(cafile=str(certificate[0]))
        async with tls_server(certificate) as server, serving(proxying) as proxy:
            address = proxy.base_url.replace("http://", "http://user:secret@")
            async with lanes(server.base_url, tls=trust, proxy=address) as transport:
                for _ in range(2):
                    assert await transport.send("1", PAYLOAD, open_gate) == Accepted("wamid.A")
            assert len(proxy.requests) == 1
            assert b"\r\nproxy-authorization: basic " in proxy.requests[0].lower()
        assert server.requests[0].startswith(b"POST /v22.0/1/messages HTTP/1.1\r\n")
        assert b"proxy-authorization" not in server.requests[0].lower()

    async def test_a_proxy_that_does_not_listen_is_not_sent(self) -> None:
        async with lanes("http://service.invalid", proxy="http://127.0.0.1:1") as transport:
            outcome = await transport.send("1", PAYLOAD, open_gate)
        assert isinstance(outcome, NotSent)
        assert outcome.unreachable
