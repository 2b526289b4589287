"""`drumbeat console`: it listens, it refuses to serve others without users, and it manages people."""

import signal
import urllib.request
from pathlib import Path

import orjson
import pytest

from tests.cli.processes import Drumbeat, serving
from tests.metrics_text import served_ports

pytestmark = pytest.mark.usefixtures("warm_starts")
PASSWORD = "a long enough password"


def add_user(drumbeat: Drumbeat, tmp_path: Path, password: str = PASSWORD) -> tuple[int, str]:
    file = tmp_path / "password"
    file.write_text(password + "\n", "utf-8")
    done = drumbeat("console", "user", "add", "ana", "--role", "send", "--password-file", file)
    return done.exit_code, done.stderr


def test_it_serves_until_it_is_stopped(drumbeat: Drumbeat, tmp_path: Path) -> None:
    """Open streams end with it; no kill is needed."""
    log = tmp_path / "console.log"
    process = drumbeat.start("console", "serve", "--port", "0", "--metrics-port", "0", log=log)
    assert process.stdout is not None
    listening = orjson.loads(process.stdout.readline())
    assert listening["event"] == "listening"
    with urllib.request.urlopen(listening["url"] + "/api/v1/campaigns", timeout=30) as reply:
        assert orjson.loads(reply.read()) == {"campaigns": [], "next": None}
    (port,) = served_ports(log)
    drumbeat.ok("health", "--port", str(port))
    with urllib.request.urlopen(listening["url"] + "/live/campaigns", timeout=30) as stream:
        assert stream.readline().startswith(b"retry")
        process.send_signal(signal.SIGTERM)
        while stream.readline():
            pass
    assert process.wait(30) == 128 + signal.SIGTERM
    assert "request_failed" not in log.read_text()


def test_a_token_opens_it_to_a_program(drumbeat: Drumbeat, tmp_path: Path) -> None:
    assert add_user(drumbeat, tmp_path) == (0, "")
    token = drumbeat.ok("console", "token", "add", "reports", "--role", "look").stdout.strip()
    with serving(drumbeat, "console", "serve", "--port", "0") as url:
        request = urllib.request.Request(
            url + "/api/v1/numbers", headers={"Authorization": f"Bearer {token}"}
        )
        with urllib.request.urlopen(request, timeout=30) as reply:
            assert orjson.loads(reply.read()) == {"numbers": []}
        with pytest.raises(urllib.error.HTTPError, match="401"):
            urllib.request.urlopen(url + "/api/v1/numbers", timeout=30)


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, "DRUMBEAT_CONSOLE_URL"),
        ({"console_url": "https://beat.example"}, "drumbeat console user add"),
        ({"console_user_header": "X-User"}, "DRUMBEAT_CONSOLE_PROXIES"),
        ({"console_proxies": "everybody"}, "console_proxies"),
    ],
)
def test_it_does_not_serve_strangers(drumbeat: Drumbeat, settings: dict[str, str], complaint: str) -> None:
    done = drumbeat("console", "serve", "--host", "0.0.0.0", "--port", "0", **settings)
    assert done.exit_code == 78
    assert complaint in done.complaint


def test_people_are_added_listed_and_removed(drumbeat: Drumbeat, tmp_path: Path) -> None:
    assert add_user(drumbeat, tmp_path) == (0, "")
    drumbeat.ok("console", "user", "add", "bo", "--role", "look", "--no-password")
    listed = drumbeat.ok("console", "user", "list", "--json").json["users"]
    assert [(user["name"], user["role"], user["has_password"]) for user in listed] == [
        ("ana", "send", True),
        ("bo", "look", False),
    ]
    assert drumbeat("console", "user", "remove", "ana").exit_code == 2  # nobody confirmed it
    drumbeat.ok("console", "user", "remove", "ana", "--yes")
    assert "ana" not in drumbeat.ok("console", "user", "list").stdout
    assert drumbeat("console", "user", "remove", "ana", "--yes").exit_code == 78
    drumbeat.ok("console", "user", "sign-out", "bo")


def test_tokens_are_shown_once(drumbeat: Drumbeat) -> None:
    token = drumbeat.ok("console", "token", "add", "reports", "--role", "look").stdout.strip()
    assert len(token) > 40
    assert drumbeat("console", "token", "add", "reports", "--role", "look").exit_code == 2
    assert token not in drumbeat.ok("console", "token", "list").stdout
    assert [each["name"] for each in drumbeat.ok("console", "token", "list", "--json").json["tokens"]] == [
        "reports"
    ]
    drumbeat.ok("console", "token", "remove", "reports", "--yes")


@pytest.mark.parametrize("password", ["", "short"])
def test_a_weak_password_is_refused(drumbeat: Drumbeat, tmp_path: Path, password: str) -> None:
    code, errors = add_user(drumbeat, tmp_path, password)
    assert code == 2 and "12 characters" in errors


def test_without_a_terminal_nobody_is_asked(drumbeat: Drumbeat) -> None:
    done = drumbeat("console", "user", "add", "ana", "--role", "look")
    assert done.exit_code == 2 and "--password-file" in done.complaint
