"""What is said of a database that cannot be reached, and where the embedded one can lie."""

from pathlib import Path

import pytest

from engine.errors import ConfigurationError
from engine.settings import default_home
from engine.store.database import safe_url
from engine.store.embedded import start_embedded


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://u:geheim@h:5432/db", "postgresql://u:***@h:5432/db"),
        ("postgresql://u@h/db?password=geheim", "postgresql://u@h/db?password=***"),
        (
            "postgresql://h/db?user=u&password=ge@heim&sslmode=require",
            "postgresql://h/db?user=u&password=***&sslmode=require",
        ),
        ("postgresql://u:geheim@h/db?sslPassword=geheim", "postgresql://u:***@h/db?sslPassword=***"),
        ("postgresql:///db?host=/tmp", "postgresql:///db?host=/tmp"),
    ],
)
def test_no_password_of_a_url_is_ever_said(url: str, said: str) -> None:
    assert safe_url(url) == said


@pytest.mark.parametrize("name", ["a b", "x#y", "p%41", "a&b", "it's", "a+b", "$HOME"])
def test_a_home_that_postgres_cannot_bear_is_refused_by_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigurationError, match="cannot lie in") as refused:
        start_embedded(tmp_path / name)
    assert name in refused.value.what
    assert "DRUMBEAT_HOME" in refused.value.remedy
    assert not (tmp_path / name).exists()


def test_the_usual_home_is_one_that_postgres_can_bear(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    monkeypatch.setattr(
        "platformdirs.user_data_path", lambda _: Path("/home/ana/Library/Application Support/drumbeat")
    )
    monkeypatch.setenv("HOME", "/home/ana")
    assert default_home() == Path("/home/ana/.drumbeat")
    monkeypatch.setattr("platformdirs.user_data_path", lambda _: Path("/home/ana/.local/share/drumbeat"))
    assert default_home() == Path("/home/ana/.local/share/drumbeat")
