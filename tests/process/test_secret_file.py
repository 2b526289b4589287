"""A secret in a file: a new one is taken up and masked, and what is no secret changes nothing."""

import io
import os
import sys
from pathlib import Path

import orjson
import pytest
import structlog
from pydantic import SecretStr
from structlog.testing import capture_logs

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.event_log import get_logger
from drumbeat.engine.process.secret_file import SecretFile
from drumbeat.engine.process.settings import load_settings, read_secret, secret_path
from drumbeat.engine.process.telemetry import configure_logging


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.write_text("first-token\n")
    return path


@pytest.fixture
def file(path: Path) -> SecretFile:
    return SecretFile("access_token", SecretStr("first-token"), path)


def value(file: SecretFile) -> str:
    return file.value.get_secret_value()


def test_another_secret_is_taken_up_once(file: SecretFile, path: Path) -> None:
    assert not file.refresh()
    path.write_text("second-token\n")
    assert file.refresh()
    assert value(file) == "second-token"
    assert not file.refresh()


def test_a_link_to_another_directory_is_followed(tmp_path: Path) -> None:
    """As a secret that Kubernetes mounts is replaced."""
    for name in ("old", "new"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "token").write_text(f"{name}-token")
    link = tmp_path / "data"
    link.symlink_to("old")
    file = SecretFile("access_token", SecretStr("old-token"), link / "token")
    link.unlink()
    link.symlink_to("new")
    assert file.refresh() and value(file) == "new-token"


@pytest.mark.parametrize("content", [b"", b" \n", b"two words", b"\xff\xfe", None])
def test_what_is_no_token_is_logged_once_and_the_former_one_stays(
    file: SecretFile, path: Path, content: bytes | None
) -> None:
    path.unlink() if content is None else path.write_bytes(content)
    with capture_logs() as logs:
        assert not file.refresh()
        assert not file.refresh()
        path.write_text("second-token")
        assert file.refresh()
    assert value(file) == "second-token"
    assert [line["event"] for line in logs] == ["secret_not_read", "secret_read_again", "secret_replaced"]
    assert str(path) in logs[0]["problem"] or "access_token" in logs[0]["problem"]
    assert "two words" not in str(logs) and "second-token" not in str(logs)


def test_a_secret_from_elsewhere_never_changes() -> None:
    assert not SecretFile("access_token", SecretStr("a-token"), None).refresh()


def test_a_new_secret_is_masked_beside_the_former_one(
    file: SecretFile, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = structlog.get_config()
    stderr = io.StringIO()
    monkeypatch.setattr(sys, "stderr", stderr)
    try:
        configure_logging([SecretStr("first-token"), SecretStr("line-one\nline-two")])
        path.write_text("second-token")
        file.refresh()
        get_logger("any").warning("x", detail="first-token second-token line-one line-two")
    finally:
        structlog.configure(**before)
    line = orjson.loads(stderr.getvalue().splitlines()[-1])
    assert line["detail"] == "*** *** *** ***"


def test_only_a_file_that_the_settings_use_is_followed(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DRUMBEAT_ACCESS_TOKEN", raising=False)
    monkeypatch.delenv("DRUMBEAT_ACCESS_TOKEN_FILE", raising=False)
    assert secret_path("access_token") is None
    monkeypatch.setenv("DRUMBEAT_ACCESS_TOKEN_FILE", str(path))
    assert secret_path("access_token") == path
    assert load_settings(base_url="http://service.example").service().access_token_file == path
    monkeypatch.setenv("DRUMBEAT_ACCESS_TOKEN", "a-token")
    assert secret_path("access_token") is None
    monkeypatch.delenv("DRUMBEAT_ACCESS_TOKEN")
    os.mkfifo(path.with_name("pipe"))
    monkeypatch.setenv("DRUMBEAT_ACCESS_TOKEN_FILE", str(path.with_name("pipe")))
    assert secret_path("access_token") is None, "a read of it would wait for a writer"


def test_an_app_secret_may_be_two_lines(path: Path) -> None:
    path.write_text("old-secret\nnew-secret\n")
    assert read_secret("app_secret", path).get_secret_value() == "old-secret\nnew-secret"
    for wrong in ("a\nb\nc", "a\r\nb", "a\n\nb"):
        path.write_text(wrong)
        with pytest.raises(ConfigurationError, match="app_secret: must be 1 to 2 lines"):
            read_secret("app_secret", path)


@pytest.mark.parametrize("given", ["\nnew-secret", "old-secret\n", "\n"])
def test_an_empty_line_is_never_a_key(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever signs with an empty key would be taken for the service."""
    monkeypatch.setenv("DRUMBEAT_APP_SECRET", given)
    with pytest.raises(ConfigurationError, match="app_secret"):
        load_settings()
