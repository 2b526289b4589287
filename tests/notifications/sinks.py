"""Receivers on loopback: a server that takes webhooks, and a server that takes mail."""

from __future__ import annotations

import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

import orjson
from aiohttp import web
from aiosmtpd.controller import Controller
from aiosmtpd.smtp import AuthResult, Envelope, LoginPassword, Session

from tests.kit.ports import free_port


@dataclass(frozen=True, slots=True)
class Posted:
    """One request: its headers and its bytes as they came."""

    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return orjson.loads(self.body)


@dataclass(slots=True)
class Hook:
    """Answers with `status` and keeps what was posted. `location`: where it redirects to."""

    port: int
    status: int = 200
    location: str = ""
    posted: list[Posted] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/hooks/t0ken-of-the-path"

    async def take(self, request: web.Request) -> web.Response:
        self.posted.append(Posted(dict(request.headers), await request.read()))
        headers = {"Location": self.location} if self.location else {}
        return web.Response(status=self.status, headers=headers)


@asynccontextmanager
async def hook(port: int | None = None, **options: Any) -> AsyncIterator[Hook]:
    """A server for webhooks."""
    found = Hook(port or free_port(), **options)
    application = web.Application()
    application.router.add_post("/{path:.*}", found.take)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", found.port).start()
    try:
        yield found
    finally:
        await runner.cleanup()


class Mailbox:
    """Keeps the mail of one server. `refused`: recipients that it does not take; `answer`: to the message."""

    def __init__(self, refused: tuple[str, ...] = (), answer: str = "250 OK") -> None:
        self.refused = refused
        self.answer = answer
        self.mails: list[EmailMessage] = []
        self.recipients: list[list[str]] = []
        self.logins: list[tuple[str, str]] = []
        self.encrypted: list[bool] = []

    async def handle_RCPT(
        self, server: Any, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if address in self.refused:
            return "550 no such mailbox"
        envelope.rcpt_tos.append(address)
        return "250 OK"

    async def handle_DATA(self, server: Any, session: Session, envelope: Envelope) -> str:
        if self.answer.startswith("250"):
            assert isinstance(envelope.content, bytes)
            mail = message_from_bytes(envelope.content, policy=policy.default)
            assert isinstance(mail, EmailMessage)
            self.mails.append(mail)
            self.recipients.append(envelope.rcpt_tos)
            self.encrypted.append(session.ssl is not None)
        return self.answer

    def authenticate(
        self, server: Any, session: Session, envelope: Envelope, mechanism: str, data: Any
    ) -> AuthResult:
        assert isinstance(data, LoginPassword)
        login = data.login.decode(), data.password.decode()
        self.logins.append(login)
        return AuthResult(success=login == ("me", "p@ss w0rd"), handled=False)


@contextmanager
def mail_server(
    mailbox: Mailbox, port: int | None = None, *, login: bool = False, tls: ssl.SSLContext | None = None
) -> Iterator[int]:
    """A server for mail, in a thread of its own; gives its port. `login`: it wants a user and a password.

    `tls`: it offers STARTTLS with this certificate.
    """
    chosen = port or free_port()
    extras: dict[str, Any] = {"tls_context": tls} if tls else {}
    if login:
        extras |= {"authenticator": mailbox.authenticate, "auth_required": True, "auth_require_tls": False}
    controller = Controller(mailbox, hostname="127.0.0.1", port=chosen, **extras)
    controller.start()
    try:
        yield chosen
    finally:
        controller.stop()
