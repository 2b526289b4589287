"""The settings, all in one frozen object, checked once.

Precedence: command line, environment (`DRUMBEAT_<NAME>`; for a secret also the path of a file in
`DRUMBEAT_<NAME>_FILE`), `drumbeat.toml` in the working directory, defaults. An empty variable is ignored.
Law: a secret is a SecretStr from the moment it is read, and no error quotes the value of a setting.
"""

import os
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import platformdirs
from pydantic import Field, SecretStr, TypeAdapter, ValidationError
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from drumbeat.engine.core.disk_space import LEAST_FREE_MIB
from drumbeat.engine.core.interface import API_VERSION, PRODUCT
from drumbeat.engine.core.limits.guard import PAIR_BURST, PAIR_EVERY_S
from drumbeat.engine.core.limits.quota import QuotaScope
from drumbeat.engine.core.retry import SILENCE_S
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.process.notification_settings import (
    MailAddress,
    MailAddresses,
    NotificationSettings,
    NotifyUrl,
    SmtpUrl,
    WebhookSettings,
    mail_settings,
)
from drumbeat.engine.process.setting_forms import (
    AppSecret,
    BaseUrl,
    FilePath,
    HeaderName,
    Home,
    Identifier,
    IssuerUrl,
    Networks,
    PlainSecret,
    Product,
    ProxyUrl,
    TimeZone,
    Token,
    Version,
)

PREFIX = "DRUMBEAT_"
INSTALLATION = "drumbeat"
SETTINGS_FILE = Path("drumbeat.toml")
SECRETS = (
    "database_url",
    "audience_database_url",
    "access_token",
    "app_secret",
    "verify_token",
    "proxy_url",
    "notify_url",
    "notify_secret",
    "smtp_url",
    "console_oidc_client_secret",
)
RereadSecret = Literal["access_token", "app_secret", "verify_token"]  # a running process follows their files
SECRET_BYTES_MAX = 16 * 1024  # limits what is read if the path names the wrong file
ROOT_HOME = Path("/var/lib/drumbeat")  # for root, Postgres runs as another user, who cannot enter /root


def default_home() -> Path:
    """Return the default data directory. For root, other users can enter it. Other users have their own.

    If the user's data directory has a space in its path, as on macOS, it is `~/.drumbeat`: the embedded
    Postgres cannot use a path with spaces.
    """
    if hasattr(os, "geteuid") and os.geteuid() == 0:
        return ROOT_HOME
    usual = platformdirs.user_data_path("drumbeat")
    return Path.home() / ".drumbeat" if " " in str(usual) else usual


_REREAD_FORMS = {
    "access_token": TypeAdapter[SecretStr](Token),
    "app_secret": TypeAdapter[SecretStr](AppSecret),
    "verify_token": TypeAdapter[SecretStr](PlainSecret),
}


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings with which the engine calls the service. `pair_*`: the limit for one number and one
    recipient.

    `tag`: requests carry opaque data, which the service returns in statuses (open point "Send").
    `quota_scope` says if a messaging limit holds for each number or for all numbers of the account together.
    `silence_s` is how late a status may arrive. An attempt in doubt without a status for longer was probably
    not sent. `proxy_url` is the HTTP proxy for the service; it is a secret, since it may hold a password.
    `access_token_file` is the file in which a sender looks for a new token; None if the token is from
    elsewhere. `ca_file` has certificates that are trusted besides those of the system.
    """

    base_url: str
    access_token: SecretStr
    api_version: str = API_VERSION
    product: str = PRODUCT
    waba_id: str | None = None
    pair_rate_per_s: float = 1 / PAIR_EVERY_S
    pair_burst: int = PAIR_BURST
    quota_scope: QuotaScope = QuotaScope.NUMBER
    tag: bool = True
    silence_s: float = SILENCE_S
    proxy_url: SecretStr | None = None
    access_token_file: Path | None = None
    ca_file: Path | None = None

    @property
    def proxy(self) -> str | None:
        return None if self.proxy_url is None else self.proxy_url.get_secret_value()


@dataclass(frozen=True, slots=True)
class MetricsAddress:
    """The address at which a process serves its metrics. Port 0 is any free one; the event `metrics_served`
    names it. `installation` is a label of each metric.
    """

    host: str
    port: int
    installation: str = INSTALLATION


class Settings(BaseSettings):
    """The settings, made by `load_settings`. `database_url` None means the embedded Postgres in `home`.

    The text below each one is its entry in the reference, in Markdown.
    """

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_ignore_empty=True, frozen=True, extra="forbid", hide_input_in_errors=True
    )

    home: Home = Field(default_factory=default_home)
    """The directory where data is kept; its path holds no spaces."""
    database_url: SecretStr | None = None
    """A Postgres of your own, 15 to 18."""
    audience_database_url: SecretStr | None = None
    """The Postgres that `--audience-sql` reads."""
    base_url: BaseUrl | None = None
    """The address of the service."""
    api_version: Version = API_VERSION
    """The version of the service's interface."""
    access_token: Token | None = None
    """The access token of the account."""
    waba_id: Identifier | None = None
    """The id of the business account. The receiver ignores events of other accounts."""
    app_secret: AppSecret | None = None
    """The key with which the service signs its events; two lines while it is replaced."""
    verify_token: PlainSecret | None = None
    """The word with which the service verifies your callback."""
    product: Product = PRODUCT
    """The value of `messaging_product` and of similar fields."""
    proxy_url: ProxyUrl | None = None
    """An HTTP proxy on the way to the service, such as `http://user:password@proxy:3128`."""
    ca_file: FilePath | None = None
    """A file of certificates (PEM) that are trusted besides those of the system: for a service with a
    certificate of your own authority, or for a proxy that opens TLS.
    """
    tag: bool = True
    """`false` for a service that refuses `biz_opaque_callback_data`. Recipients in doubt are then settled by
    number and recipient.
    """
    pair_rate_per_s: float = Field(default=1 / PAIR_EVERY_S, gt=0)
    """Messages per second from one number to one recipient."""
    pair_burst: int = Field(default=PAIR_BURST, ge=1)
    """Messages from one number to one recipient at once."""
    quota_scope: QuotaScope = QuotaScope.NUMBER
    """The scope of a messaging limit: each `number`, or all numbers of the `account` together."""
    silence_s: float = Field(default=SILENCE_S, gt=0)
    """After so many seconds without an event, while other events of its number arrive, a recipient in doubt
    counts as probably not sent. After a gap of five minutes in the number's events, the time begins anew.
    """
    least_free_mib: int = Field(default=LEAST_FREE_MIB, ge=0)
    """With less free space than this on the embedded database's disk, nothing is sent; with less than twice
    as much, nothing is planned; `0` never checks.
    """
    notify_url: NotifyUrl | None = None
    """The address to which notifications are posted."""
    notify_secret: PlainSecret | None = None
    """The key with which requests to that address are signed; required with the address."""
    notify_mail_to: MailAddresses | None = None
    """The recipients of notifications by mail; separate several addresses by commas."""
    notify_mail_from: MailAddress | None = None
    """The sender of these mails; required with recipients."""
    smtp_url: SmtpUrl | None = None
    """The mail server, as `smtp://user:password@mail.example:587` or `smtps://mail.example`; required with
    recipients.
    """
    prices: FilePath | None = None
    """The file with the table of prices by which plans and the console say what a campaign costs."""
    console_url: BaseUrl | None = None
    """The address of the console in browsers; required unless only this machine uses it."""
    console_user_header: HeaderName | None = None
    """A header in which a trusted proxy names the user of the console."""
    console_proxies: Networks | None = None
    """The addresses or networks of all proxies before the console, separated by commas; also their
    `X-Forwarded-For` counts.
    """
    console_upload_mib: int = Field(default=200, ge=1)
    """The largest size of an uploaded audience."""
    console_approval: bool = False
    """`true`: in the console, a campaign starts only once a second person has started it too. The same
    holds for sending again to recipients in doubt, for changes of a campaign that was started and for higher
    limits. The command line is not concerned.
    """
    console_oidc_issuer: IssuerUrl | None = None
    """The OpenID provider at which people may sign in, exactly as it names itself."""
    console_oidc_client_id: str | None = None
    """The name of the console at that provider."""
    console_oidc_client_secret: PlainSecret | None = None
    """The secret of the console at that provider."""
    console_oidc_roles: str | None = None
    """Roles by groups, as `ops=manage, sales=look`. Without it, only known users enter."""
    console_oidc_role_claim: str = "groups"
    """The claim of the ID token with the groups; dots lead into objects."""
    console_oidc_domains: str | None = None
    """The domains of mail addresses that may sign in there, separated by commas; all without it."""
    console_zone: TimeZone = "UTC"
    """The time zone of times in reports of results, and in the console. A browser with JavaScript shows times
    in its own zone.
    """
    installation: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,62}$")] = INSTALLATION
    """The name of this installation: the label `installation` of every metric. One Prometheus, and each
    alert, tells several installations apart by it.
    """
    metrics_host: str = "127.0.0.1"
    """The address where a worker serves its metrics; `0.0.0.0` in a container."""
    metrics_port: int = Field(default=9090, ge=0, le=65535)
    """The port of the first process of a worker; `0` picks a free one."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - the library names its arguments
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Order the sources as the module's docstring says. A variable outranks its `_FILE` variant."""
        files = _SecretFiles(settings_cls)
        return init_settings, env_settings, files, TomlConfigSettingsSource(settings_cls, SETTINGS_FILE)

    def service(self) -> ServiceSettings:
        """Return the settings for calls to the service. ConfigurationError names a missing one."""
        return ServiceSettings(
            base_url=self.required("base_url"),
            access_token=self.required_secret("access_token"),
            api_version=self.api_version,
            product=self.product,
            waba_id=self.waba_id,
            pair_rate_per_s=self.pair_rate_per_s,
            pair_burst=self.pair_burst,
            quota_scope=self.quota_scope,
            tag=self.tag,
            silence_s=self.silence_s,
            proxy_url=self.proxy_url,
            access_token_file=secret_path("access_token"),
            ca_file=self.ca_file,
        )

    def disk(self) -> Disk | None:
        """Return the disk of the embedded Postgres. None for another database: its operator watches it."""
        return None if self.database_url is not None else Disk(self.home, self.least_free_mib)

    def metrics_at(self, port: int, host: str | None = None) -> MetricsAddress:
        """Return the address of the metrics on this port, with the name of the installation."""
        return MetricsAddress(host or self.metrics_host, port, self.installation)

    def notifications(self) -> NotificationSettings:
        """Return the channels that are set up. ConfigurationError names what one of them lacks."""
        webhook = mail = None
        if self.notify_url is not None:
            webhook = WebhookSettings(self.notify_url, self.required_secret("notify_secret"))
        if self.notify_mail_to is not None:
            sender, server = self.required("notify_mail_from"), self.required_secret("smtp_url")
            mail = mail_settings(self.notify_mail_to, sender, server)
        return NotificationSettings(webhook, mail)

    def required(self, name: Literal["base_url", "waba_id", "notify_mail_from"]) -> str:
        """Return a setting without a default. ConfigurationError says how to set it."""
        value: str | None = getattr(self, name)
        if value is None:
            raise _missing(name)
        return value

    def required_secret(
        self, name: Literal["access_token", "app_secret", "verify_token", "notify_secret", "smtp_url"]
    ) -> SecretStr:
        """Return a secret without a default. An empty secret counts as missing. ConfigurationError says how
        to set it.
        """
        value: SecretStr | None = getattr(self, name)
        if value is None or not value.get_secret_value():
            raise _missing(name)
        return value


class _SecretFiles(PydanticBaseSettingsSource):
    """A source that reads secrets from files: `DRUMBEAT_ACCESS_TOKEN_FILE=/run/secrets/token`. Strips white
    space.
    """

    def get_field_value(self, field: object, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        return self._read(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        read = {name: self._read(name) for name in SECRETS}
        return {name: value for name, value in read.items() if value is not None}

    def _read(self, name: str) -> str | None:
        variable = f"{PREFIX}{name.upper()}_FILE"
        path = os.environ.get(variable)
        return _read_file(Path(path), f"environment {variable}") if path else None


def secret_path(name: RereadSecret) -> Path | None:
    """Return the file that the secret was read from.

    Returns None if the secret is from elsewhere, or from a pipe, which can be read only once and would block.
    """
    path = os.environ.get(f"{PREFIX}{name.upper()}_FILE")
    if not path or os.environ.get(PREFIX + name.upper()):
        return None
    return Path(path) if Path(path).is_file() else None


def read_secret(name: RereadSecret, path: Path) -> SecretStr:
    """Return a secret as its file holds it now. ConfigurationError if it holds none, or cannot be read."""
    where = f"environment {PREFIX}{name.upper()}_FILE"
    text = _read_file(path, where)
    try:
        if not text:
            raise ConfigurationError(f"{path} is empty", where=where)
        return _REREAD_FORMS[name].validate_python(text)
    except ValidationError as error:
        message = error.errors(include_input=False)[0]["msg"].removeprefix("Value error, ")
        raise ConfigurationError(f"setting {name}: {message}", where=where) from None


def _read_file(path: Path, where: str) -> str:
    try:
        with path.open("rb") as file:
            return file.read(SECRET_BYTES_MAX).decode("utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        raise ConfigurationError(f"cannot read the secret from {path}: {reason}", where=where) from None


def load_settings(**overrides: Any) -> Settings:
    """Read all sources. `overrides` come from the command line; None means not given.

    Raises ConfigurationError, which names each wrong setting and its source, never its value.
    """
    given = {name: value for name, value in overrides.items() if value is not None}
    try:
        return Settings(**given)
    except ValidationError as error:
        problems = (_explain(problem["loc"], problem["msg"], given) for problem in error.errors())
        raise ConfigurationError("; ".join(problems)) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as error:
        raise ConfigurationError(f"cannot read the settings: {error}", where=str(SETTINGS_FILE)) from None


def _missing(name: str) -> ConfigurationError:
    variable = PREFIX + name.upper()
    where = f"{variable} or {variable}_FILE" if name in SECRETS else variable
    return ConfigurationError(f"the setting {name} is missing", remedy=f"set {where}")


def _explain(location: tuple[int | str, ...], message: str, given: dict[str, Any]) -> str:
    name = str(location[0]) if location else "settings"
    if name not in Settings.model_fields:
        message = "there is no such setting"
    return f"setting {name} ({_source(name, given)}): {message.removeprefix('Value error, ')}"


def _source(name: str, given: dict[str, Any]) -> str:
    variable = PREFIX + name.upper()
    if name in given:
        return "command line"
    if os.environ.get(variable):
        return f"environment {variable}"
    return f"environment {variable}_FILE" if os.environ.get(f"{variable}_FILE") else str(SETTINGS_FILE)
