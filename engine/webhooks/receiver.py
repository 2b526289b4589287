"""The callback that the service pushes to, with the probes and metrics for operators.

The path `/webhook`, or another that is set, has the verification handshake (GET) and the events (POST),
answered with 200 only after the commit. `/livez`, `/readyz` and `/metrics` are beside it. Law: an unsigned
request gets 403 and no further information; a signed one is kept. Why a request is refused is for the
operator: see `refusals.py`.
"""

import asyncio
import errno
import hmac
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import partial
from urllib.parse import parse_qs

from pydantic import SecretStr

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.answers import Answer, encode
from drumbeat.engine.process.memory import rare_collections
from drumbeat.engine.process.probe_server import is_foreign_address
from drumbeat.engine.process.probes import Probes
from drumbeat.engine.store.database import Pool
from drumbeat.engine.webhooks.body_coding import CODING_HEADER, NotUnpacked, unpack
from drumbeat.engine.webhooks.intake import Intake
from drumbeat.engine.webhooks.metrics import Metrics
from drumbeat.engine.webhooks.refusals import Refusal, Refusals
from drumbeat.engine.webhooks.signature import SIGNATURE_HEADER, Verifier
from drumbeat.http_server.connection import HttpConnection
from drumbeat.http_server.limits import Limits
from drumbeat.http_server.parser import Headers, RawRequest
from drumbeat.http_server.replies import ReplySlot
from drumbeat.http_server.server import Server

CALLBACK_PATH = "/webhook"
DRAIN_S = 3.0  # for answers that wait for their commit when the receiver stops
BACKLOG = 1_024  # connections that the kernel holds while the receiver is busy
# The largest body (open point "Events") holds 1,000 updates: messages of up to 4,096 characters, each of up
# to six bytes in JSON. A body refused for its size would be lost in the end, so a few large ones may be read
# at a time. A thousand statuses take half of the usual size, four large bodies half of `waiting_bytes`.
LIMITS = Limits(body_bytes=32 * 1024 * 1024, usual_body_bytes=1024 * 1024)

_COMMITTED = Answer(200)


@dataclass(frozen=True, slots=True)
class Secrets:
    """The secrets that the service and the receiver share: the key of the signatures, and the token of the
    handshake.

    `app_secret` may hold two lines, the present one and the next: a signature by either counts.
    """

    app_secret: SecretStr
    verify_token: SecretStr


class Receiver:
    """A receiver that answers the requests of all connections of `server`."""

    def __init__(
        self,
        intake: Intake,
        metrics: Metrics,
        probes: Probes,
        secrets: Secrets,
        limits: Limits | None = None,
        path: str = CALLBACK_PATH,
    ) -> None:
        self._intake = intake
        self._metrics = metrics
        self._probes = probes
        self.path = path.rstrip("/")
        # With a slash at its end too, which some proxies and people add.
        self._paths = frozenset({self.path.encode(), f"{self.path}/".encode()})
        self.refusals = Refusals()
        self.use(secrets)
        self._limits = limits or LIMITS
        self.server = Server(self, self._limits, HttpConnection, self._count_connections)

    def use(self, secrets: Secrets) -> None:
        """Verify with these secrets from now on."""
        lines = secrets.app_secret.get_secret_value().encode().split(b"\n")
        self._verifiers = tuple(Verifier(line).verify for line in lines)
        self._verify_token = secrets.verify_token.get_secret_value().encode()

    def handle(self, request: RawRequest, slot: ReplySlot) -> None:
        """Handle a request as `Application` says. Events are answered after their commit, others at once."""
        method, target, headers, body, _ = request
        path, _, query = target.partition(b"?")
        if path not in self._paths:
            self._probes.handle(method, path, partial(self._fill_probe, slot, head_only=method == b"HEAD"))
        elif method == b"POST":
            self._take_events(slot, headers, body)
        elif method in (b"GET", b"HEAD"):
            self._shake_hands(slot, query, head_only=method == b"HEAD")
        else:
            self._refuse(slot, Refusal.METHOD, 405)

    def refusal(self, status: int) -> bytes:
        """Return the bytes of a refusal as `Application` says, and count it."""
        self._metrics.answers[status] += 1
        self.refusals.note(Refusal.TOO_LARGE if status == 413 else Refusal.NOT_HTTP, status)
        return encode(Answer(status), closes=True)

    def _fill(self, slot: ReplySlot, answer: Answer, *, head_only: bool = False) -> None:
        if slot.is_wanted:
            self._metrics.answers[answer.status] += 1
            _fill(slot, answer, head_only=head_only)

    def _fill_probe(self, slot: ReplySlot, answer: Answer, *, head_only: bool) -> None:
        if answer.status == 404:
            self.refusals.note(Refusal.PATH, 404)
        _fill(slot, answer, head_only=head_only)

    def _refuse(self, slot: ReplySlot, reason: Refusal, status: int, *, head_only: bool = False) -> None:
        self.refusals.note(reason, status)
        self._fill(slot, Answer(status), head_only=head_only)

    def _take_events(self, slot: ReplySlot, headers: Headers, body: bytes) -> None:
        """Take a body's events. The signature is over the bytes as they came: only a signed
        body is unpacked.
        """
        signature = headers.get(SIGNATURE_HEADER)
        if not any(verify(body, signature) for verify in self._verifiers):
            self._refuse(slot, Refusal.SIGNATURE if signature else Refusal.NO_SIGNATURE, 403)
            return
        try:
            plain = unpack(body, headers.get(CODING_HEADER), self._limits.body_bytes)
        except NotUnpacked as error:
            self._refuse(slot, Refusal.TOO_LARGE if error.status == 413 else Refusal.CODING, error.status)
            return
        if not self._intake.offer(plain, partial(self._settle, slot)):
            self._refuse(slot, Refusal.BUSY, 503)

    def _settle(self, slot: ReplySlot, committed: bool) -> None:
        if committed:
            self._fill(slot, _COMMITTED)
        else:
            self._refuse(slot, Refusal.BUSY, 503)

    def _shake_hands(self, slot: ReplySlot, query: bytes, *, head_only: bool) -> None:
        challenge = self._challenge(query)
        if challenge is None:
            self._refuse(slot, Refusal.HANDSHAKE, 403, head_only=head_only)
        else:
            self._fill(slot, Answer(200, challenge), head_only=head_only)

    def _challenge(self, query: bytes) -> bytes | None:
        """Return what a handshake (interface, "Callback endpoints") is answered with: the challenge for a
        caller that knows the token, None for others.
        """
        try:
            given = parse_qs(query.decode("ascii"), max_num_fields=16)
        except ValueError:
            return None
        mode, token, challenge = (
            given.get(name, [""])[-1] for name in ("hub.mode", "hub.verify_token", "hub.challenge")
        )
        known = hmac.compare_digest(token.encode("utf-8", "replace"), self._verify_token)
        return challenge.encode("utf-8", "replace") if known and mode == "subscribe" else None

    def _count_connections(self) -> None:
        self._metrics.connections = len(self.server.connections)
        self._metrics.refused_connections = self.server.refused


def _fill(slot: ReplySlot, answer: Answer, *, head_only: bool = False) -> None:
    if slot.is_wanted:
        slot.finish(encode(answer, closes=slot.last, head_only=head_only))


@asynccontextmanager
async def listening(
    receiver: Receiver,
    intake: Intake,
    host: str,
    port: int,
    *,
    pool: Pool,
    on_bug: Callable[[], None] = lambda: None,
) -> AsyncIterator[str]:
    """Accept connections, and yield the URL of the callback. The exit accepts no more and drains the rest.

    Raises ConfigurationError if it cannot listen on host and port. Port 0 is any free port. `on_bug` is
    called when a task of the receiver ends by itself: nothing is committed any more. The exit raises the
    error.
    """
    loop = asyncio.get_running_loop()
    await intake.look()
    try:
        server = await loop.create_server(receiver.server.connect, host, port, backlog=BACKLOG)
    except OSError as error:
        raise _cannot_listen(host, port, error) from error
    works = (intake.run(), intake.watch(), receiver.server.sweep(), receiver.refusals.store_on(pool))
    tasks = [asyncio.create_task(work) for work in works]
    for task in tasks:
        task.add_done_callback(lambda _: on_bug())
    try:
        bound = server.sockets[0].getsockname()[1]
        shown = f"[{host}]" if ":" in host else host
        with rare_collections():
            yield f"http://{shown}:{bound}{receiver.path}"
    finally:
        server.close()
        await receiver.server.drain(DRAIN_S)
        for task in tasks:
            task.cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        for result in results:
            if isinstance(result, Exception):
                raise result


def _cannot_listen(host: str, port: int, error: OSError) -> ConfigurationError:
    where = f"{host}:{port}"
    if error.errno == errno.EADDRINUSE:
        return ConfigurationError(f"port {port} is in use", where=where, remedy="choose another with --port")
    if error.errno == errno.EACCES:
        return ConfigurationError(
            f"port {port} needs a privilege", where=where, remedy="choose one above 1023"
        )
    if is_foreign_address(error):
        return ConfigurationError(f"{host} is not an address of this machine", where=where)
    return ConfigurationError(f"cannot listen: {error.strerror or error}", where=where)
