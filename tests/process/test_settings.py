"""One frozen object from four sources, and errors that name a setting and its source, never its value."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.settings import SECRETS, Settings, load_settings

URL = "http://127.0.0.1:8081"
# Secrets that must be URLs.
URLS = {
    "proxy_url": "http://hush-hush",
    "notify_url": "https://hush-hush",
    "smtp_url": "smtps://me:hush@hush-hush",
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_line_outranks_the_environment_which_outranks_the_file_which_outranks_defaults(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert load_settings().product == "chat"
    (elsewhere / "drumbeat.toml").write_text('product = "from_file"\n')
    assert load_settings().product == "from_file"
    monkeypatch.setenv("DRUMBEAT_PRODUCT", "from_environment")
    assert load_settings().product == "from_environment"
    assert load_settings(product="from_line").product == "from_line"


def test_an_option_that_is_not_given_and_an_empty_variable_count_as_unset(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DRUMBEAT_PRODUCT", "")
    assert load_settings(product=None).product == "chat"


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_may_stand_in_a_file_and_is_never_shown(
    name: str, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    value = URLS.get(name, "hush-hush")
    (elsewhere / "secret").write_text(f"{value}\n")
    monkeypatch.setenv(f"DRUMBEAT_{name.upper()}_FILE", str(elsewhere / "secret"))
    settings = load_settings()
    assert getattr(settings, name).get_secret_value() == value
    assert "hush" not in repr(settings)
    assert "hush" not in str(settings.model_dump())


def test_a_value_outranks_a_file_that_holds_one(elsewhere: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (elsewhere / "secret").write_text("from-file")
    monkeypatch.setenv("DRUMBEAT_ACCESS_TOKEN_FILE", str(elsewhere / "secret"))
    monkeypatch.setenv("DRUMBEAT_ACCESS_TOKEN", "direct")
    token = load_settings().access_token
    assert token is not None
    assert token.get_secret_value() == "direct"


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        load_settings().product = "other"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("variable", "value", "source"),
    [
        ("BASE_URL", "ftp-is-wrong", "environment DRUMBEAT_BASE_URL"),
        ("BASE_URL", "http://me:hidden@service.example", "environment DRUMBEAT_BASE_URL"),
        ("BASE_URL", "http://service.example:port", "environment DRUMBEAT_BASE_URL"),
        ("BASE_URL", "http://service.example:99999", "environment DRUMBEAT_BASE_URL"),
        ("BASE_URL", "http://[::1", "environment DRUMBEAT_BASE_URL"),
        ("API_VERSION", "latest-hidden", "environment DRUMBEAT_API_VERSION"),
        ("PAIR_BURST", "many-hidden", "environment DRUMBEAT_PAIR_BURST"),
        ("SILENCE_S", "-86400", "environment DRUMBEAT_SILENCE_S"),
        ("ACCESS_TOKEN", "of-windows\r", "environment DRUMBEAT_ACCESS_TOKEN"),
        ("ACCESS_TOKEN", "the tökén", "environment DRUMBEAT_ACCESS_TOKEN"),
        ("APP_SECRET", "of-windows\r", "environment DRUMBEAT_APP_SECRET"),
        ("VERIFY_TOKEN", "two\nlines", "environment DRUMBEAT_VERIFY_TOKEN"),
        ("PROXY_URL", "socks5://secret@proxy:1", "environment DRUMBEAT_PROXY_URL"),
        ("PROXY_URL", "http://a%3Ab:secret@proxy:1", "environment DRUMBEAT_PROXY_URL"),
        ("NOTIFY_URL", "http://hooks.example/secret", "environment DRUMBEAT_NOTIFY_URL"),
        ("NOTIFY_URL", "https://me:secret@hooks.example", "environment DRUMBEAT_NOTIFY_URL"),
        ("NOTIFY_URL", "ftp://127.0.0.1/secret", "environment DRUMBEAT_NOTIFY_URL"),
        ("NOTIFY_URL", "https://hooks.example:port", "environment DRUMBEAT_NOTIFY_URL"),
        ("NOTIFY_SECRET", "of-windows\r", "environment DRUMBEAT_NOTIFY_SECRET"),
        ("NOTIFY_MAIL_TO", "hidden@a.example,nobody", "environment DRUMBEAT_NOTIFY_MAIL_TO"),
        ("NOTIFY_MAIL_FROM", "Me <hidden@a.example>", "environment DRUMBEAT_NOTIFY_MAIL_FROM"),
        ("SMTP_URL", "smtp://me@mail.example", "environment DRUMBEAT_SMTP_URL"),
        ("SMTP_URL", "http://me:secret@mail.example", "environment DRUMBEAT_SMTP_URL"),
        ("SMTP_URL", "smtp://me:se/cret@mail.example", "environment DRUMBEAT_SMTP_URL"),
    ],
)
def test_a_wrong_setting_is_named_with_its_source_and_without_its_value(
    variable: str, value: str, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"DRUMBEAT_{variable}", value)
    with pytest.raises(ConfigurationError) as caught:
        load_settings()
    assert variable.lower() in str(caught.value)
    assert source in str(caught.value)
    assert value not in str(caught.value)


@pytest.mark.parametrize("url", [URL, "http://[::1]:80", "https://service.example/under/a@path"])
def test_addresses_of_services(url: str) -> None:
    assert load_settings(base_url=url).base_url == url


def test_the_error_tells_a_wrong_option_from_a_wrong_line_of_the_file(elsewhere: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"base_url \(command line\)"):
        load_settings(base_url="nowhere")
    (elsewhere / "drumbeat.toml").write_text('base_url = "nowhere"\n')
    with pytest.raises(ConfigurationError, match=r"base_url \(drumbeat\.toml\)"):
        load_settings()
    (elsewhere / "drumbeat.toml").write_text('colour = "red"\n')
    with pytest.raises(ConfigurationError, match=r"colour \(drumbeat\.toml\): there is no such setting"):
        load_settings()
    (elsewhere / "drumbeat.toml").write_text("not toml")
    with pytest.raises(ConfigurationError, match=r"drumbeat\.toml"):
        load_settings()


def test_what_talks_to_the_service_needs_an_address_and_a_token() -> None:
    with pytest.raises(ConfigurationError, match="set DRUMBEAT_BASE_URL"):
        load_settings().service()
    with pytest.raises(ConfigurationError, match="set DRUMBEAT_ACCESS_TOKEN"):
        load_settings(base_url=URL).service()
    service = load_settings(base_url=URL + "/", access_token="hush-hush").service()
    assert service.base_url == URL
    assert "hush" not in repr(service)


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:8/x", "http://[::1]/", "http://localhost", "https://a.example"]
)
def test_addresses_of_webhooks(url: str) -> None:
    webhook = load_settings(notify_url=url, notify_secret="hush").notifications().webhook
    assert webhook is not None
    assert webhook.url.get_secret_value() == url


@pytest.mark.parametrize(
    ("url", "host", "port", "use_tls", "user", "require_tls"),
    [
        ("smtp://mail.example", "mail.example", 587, False, None, False),
        ("smtp://m%40e:p%2Fw@mail.example:25", "mail.example", 25, False, "m@e", True),
        ("smtp://me:pw@127.0.0.1:25", "127.0.0.1", 25, False, "me", False),
        ("smtps://me:pw@mail.example/", "mail.example", 465, True, "me", True),
    ],
)
def test_servers_for_mail(
    url: str, host: str, port: int, use_tls: bool, user: str | None, require_tls: bool
) -> None:
    given = {"notify_mail_to": "a@b.example , c@d.example", "notify_mail_from": "e@f.example"}
    mail = load_settings(**given, smtp_url=url).notifications().mail
    assert mail is not None
    assert mail.recipients == ("a@b.example", "c@d.example")
    assert (mail.host, mail.port, mail.use_tls, mail.user, mail.require_tls) == (
        host, port, use_tls, user, require_tls,
    )  # fmt: skip
    assert "pw" not in repr(mail)


def test_every_default_of_the_view_is_the_default_of_the_settings() -> None:
    settings = Settings(base_url=URL, access_token="x")  # type: ignore[arg-type]
    service = settings.service()
    for name in ("api_version", "product", "pair_rate_per_s", "pair_burst", "tag"):
        assert getattr(service, name) == getattr(settings, name)
        assert service.__dataclass_fields__[name].default == getattr(settings, name)
