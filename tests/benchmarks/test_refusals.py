"""A benchmark sends only to an emulator, and clears only a database that it created."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, HTTPServer

import orjson
import pytest

from drumbeat.benchmarks.harness import control_plane as control
from drumbeat.benchmarks.harness.control_plane import IDENTITY, prove_emulator
from drumbeat.benchmarks.harness.emulators import RunningEmulator
from drumbeat.benchmarks.harness.seeding import seed_campaign
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.store.database import Pool

HEALTH = {
    "status": "ok",
    "base_url": "http://127.0.0.1:1",
    "version": "v22.0",
    "product": "chat",
    "waba": "1",
    "accepted": 0,
    "numbers": [],
}
SUMMARY = {"accepted": 0, "numbers": {}, "errors": {}}
EMULATOR = {"/_emulator/health": HEALTH, "/_emulator/ledger/summary": SUMMARY}

Answers = dict[str, object]


@contextmanager
def answering(answers: Answers) -> Iterator[tuple[str, list[str]]]:
    """A server with these answers by path, else 404 (None: a redirect there); gives its URL and what came."""
    came: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            came.append(f"{self.command} {self.path}")
            content = answers.get(self.path, b"")
            self.send_response(302 if content is None else 200 if content else 404)
            if content is None:
                self.send_header("Location", "/elsewhere")
            self.end_headers()
            self.wfile.write(content if isinstance(content, bytes) else orjson.dumps(content))

        do_GET = do_POST = answer

        def log_message(self, format: str, *args: object) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", came
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"/_emulator/health": HEALTH},
        {"/_emulator/ledger/summary": SUMMARY},
        {**EMULATOR, "/_emulator/health": {"status": "ok"}},
        {**EMULATOR, "/_emulator/health": HEALTH | {"numbers": None}},
        {**EMULATOR, "/_emulator/ledger/summary": []},
        {**EMULATOR, "/_emulator/health": b"<html>Welcome</html>"},
        {**EMULATOR, "/_emulator/health": None, "/elsewhere": HEALTH},
    ],
)
def test_what_has_no_control_plane_is_refused_and_gets_two_questions_at_most(answers: Answers) -> None:
    with answering(answers) as (url, came):
        with pytest.raises(ConfigurationError, match="nothing was sent") as refusal:
            RunningEmulator(url)
        assert set(came) <= {"GET /_emulator/health", "GET /_emulator/ledger/summary"}
    assert refusal.value.exit_code == 78
    assert url in str(refusal.value)


def test_an_address_where_nobody_listens_is_refused() -> None:
    with answering({}) as (url, _):
        pass
    with pytest.raises(ConfigurationError, match="has no emulator's control plane"):
        prove_emulator(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://user:word@127.0.0.1:{port}",
        "ftp://127.0.0.1:{port}",
        "127.0.0.1:{port}",
        "http://user:word@127.0.0.1:{port}",
        "http://127.0.0.1:{port}/v22.0",
        "http://127.0.0.1:{port}?a=b",
        "http://127.0.0.1:99999",
        "http://",
        "",
    ],
)
def test_an_address_is_scheme_host_and_port_and_nothing_else(url: str) -> None:
    with answering(EMULATOR) as (right, came):
        with pytest.raises(ConfigurationError, match="nothing was sent"):
            prove_emulator(url.format(port=right.rpartition(":")[2]))
        assert came == []


@pytest.mark.parametrize("url", ["http://user:hunter2@127.0.0.1:99999", "http://user:hunter2@[::1"])
def test_a_password_is_not_repeated(url: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        prove_emulator(url)
    assert "hunter2" not in str(refusal.value)


def test_an_address_of_ipv6_is_an_address() -> None:
    assert control._plain("http://[::1]:8081/") == "http://[::1]:8081"
    with pytest.raises(ConfigurationError, match="has no emulator's control plane"):
        prove_emulator("http://[::1]:9")


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.0 200 OK\r\n\r\n"])
def test_what_answers_a_byte_at_a_time_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    monkeypatch.setattr(control, "REPLY_S_MAX", 0.3)
    over = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def drip() -> None:
            peer, _ = server.accept()
            with peer, suppress(OSError):
                peer.sendall(begin)
                while not over.wait(0.05):
                    peer.sendall(b"x")

        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        try:
            with pytest.raises(ConfigurationError, match="has no emulator's control plane"):
                prove_emulator(f"http://127.0.0.1:{server.getsockname()[1]}")
        finally:
            over.set()
            thread.join()


def test_an_emulator_on_this_machine_is_taken() -> None:
    with answering(EMULATOR) as (url, _):
        assert prove_emulator(url)[1] == HEALTH


def test_another_machine_must_say_that_it_is_the_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "_is_loopback", lambda _: False)
    with answering(EMULATOR) as (url, _), pytest.raises(ConfigurationError, match="another machine"):
        prove_emulator(url)
    with answering({**EMULATOR, "/_emulator/health": HEALTH | {"identity": IDENTITY}}) as (url, _):
        prove_emulator(url)


@pytest.mark.parametrize(
    ("host", "own"),
    [("127.0.0.1", True), ("127.8.9.1", True), ("::1", True), ("192.0.2.7", False), ("0.0.0.0", False)],
)
def test_loopback_is_recognised_by_its_address(host: str, own: bool) -> None:
    assert control._is_loopback(host) is own


async def test_a_database_that_no_bench_made_is_not_emptied(pool: Pool, database_url: str) -> None:
    async with pool.acquire() as connection:
        await connection.execute(
            "INSERT INTO numbers (phone_number_id, service_limit_per_s) VALUES ('7', 80)"
        )
    with pytest.raises(ConfigurationError, match="not created by a benchmark"):
        await seed_campaign(database_url, {"1": 80.0}, 10)
    assert await pool.fetchval("SELECT phone_number_id FROM numbers") == "7"
