"""The settings of notifications: their form, and the values that the channels need."""

import ipaddress
import re
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import SplitResult, unquote, urlsplit

from pydantic import AfterValidator, SecretStr

SMTP_PORTS = {"smtp": 587, "smtps": 465}
_ADDRESS = re.compile(r"[\x21-\x7e]+@[A-Za-z0-9.\-\[\]:]+")
_SMTP_SHAPE = "must be a URL like smtp://user:password@mail.example:587 or smtps://mail.example"


def is_loopback(host: str | None) -> bool:
    """Return whether the host is this machine, by its name or address alone."""
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


def _split(url: str) -> SplitResult | None:
    """Return the parts of a URL; None if it has no host, a bad port, or white space."""
    try:
        parts = urlsplit(url)
        is_valid = parts.hostname and parts.port != 0 and url.isprintable() and " " not in url
    except ValueError:
        return None
    return parts if is_valid else None


def checked_url(value: SecretStr) -> SecretStr:
    """Return the address to which this process may post. ValueError unless it is https, or http to this
    machine: what is posted must not cross a network in the clear.
    """
    parts = _split(value.get_secret_value())
    if parts is None or "@" in parts.netloc or parts.scheme not in ("http", "https"):
        raise ValueError("must be a URL like https://hooks.example/drumbeat, without a user or password")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError("must begin with https://; http:// is allowed to this machine only")
    return value


def _smtp_url(value: SecretStr) -> SecretStr:
    parts = _split(value.get_secret_value())
    if parts is None or parts.scheme not in SMTP_PORTS or parts.path.strip("/") or parts.query:
        raise ValueError(_SMTP_SHAPE)
    if bool(parts.username) != bool(parts.password):
        raise ValueError(f"{_SMTP_SHAPE}, with user and password or without both")
    return value


def _address(text: str) -> str:
    if not _ADDRESS.fullmatch(text.strip()):
        raise ValueError("must be a mail address like ops@example.com")
    return text.strip()


def _addresses(text: str) -> str:
    return ",".join(_address(address) for address in text.split(","))


NotifyUrl = Annotated[SecretStr, AfterValidator(checked_url)]
SmtpUrl = Annotated[SecretStr, AfterValidator(_smtp_url)]
MailAddress = Annotated[str, AfterValidator(_address)]
MailAddresses = Annotated[str, AfterValidator(_addresses)]


@dataclass(frozen=True, slots=True)
class WebhookSettings:
    """The address to which notifications are posted. `url` is a secret: many receivers accept anything from
    whoever knows it.
    """

    url: SecretStr
    secret: SecretStr


@dataclass(frozen=True, slots=True)
class MailSettings:
    """The recipients of mailed notifications, and the mail server. `use_tls`: from the first byte (smtps)."""

    recipients: tuple[str, ...]
    sender: str
    host: str
    port: int
    use_tls: bool
    user: str | None
    password: SecretStr | None

    @property
    def require_tls(self) -> bool:
        """Return whether STARTTLS must succeed: a password crosses a network."""
        return self.password is not None and not is_loopback(self.host)


@dataclass(frozen=True, slots=True)
class NotificationSettings:
    """The channels that are set up. A channel that is not set up is None."""

    webhook: WebhookSettings | None = None
    mail: MailSettings | None = None


def mail_settings(recipients: str, sender: str, smtp_url: SecretStr) -> MailSettings:
    """Return the mail settings of values whose form was checked."""
    parts = urlsplit(smtp_url.get_secret_value())
    assert parts.hostname is not None
    return MailSettings(
        recipients=tuple(recipients.split(",")),
        sender=sender,
        host=parts.hostname,
        port=parts.port or SMTP_PORTS[parts.scheme],
        use_tls=parts.scheme == "smtps",
        user=unquote(parts.username) if parts.username else None,
        password=SecretStr(unquote(parts.password)) if parts.password else None,
    )
