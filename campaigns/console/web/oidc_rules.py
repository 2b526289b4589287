"""The rules of signing in at an OpenID provider: who a person is here, and which role the person has. Pure.

Law: the provider names a person by a mail address that it has verified. Its groups give the role if the
settings say which; then the provider decides at each sign-in, and a user is created at the first. Otherwise
only users who are known here may enter, with the role that they have here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from drumbeat.campaigns.console.web.roles import Role, permits
from drumbeat.engine.errors import ConfigurationError
from drumbeat.engine.process.settings import Settings

CALLBACK = "/sign-in/provider/callback"
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})


@dataclass(frozen=True, slots=True)
class Provider:
    """The settings of a provider. `roles`: the role of each group; empty if users are managed here.
    `domains`: those of mail addresses that may enter; empty for all. `redirect_uri`: our callback.
    """

    issuer: str
    client_id: str
    client_secret: str
    redirect_uri: str
    role_claim: str
    roles: Mapping[str, Role]
    domains: frozenset[str]

    @property
    def host(self) -> str:
        """Return the host of the provider, for people."""
        return urlsplit(self.issuer).hostname or self.issuer


class NotAllowed(Exception):  # it is an answer
    """The provider knows the person, who may not enter here. The text holds no data of the person."""


def provider_of(settings: Settings) -> Provider | None:
    """Return the provider of the settings, or None if they name none. ConfigurationError if something is
    missing or unsafe.
    """
    if settings.console_oidc_issuer is None:
        return None
    issuer = settings.console_oidc_issuer
    needed = ("console_oidc_client_id", "console_oidc_client_secret", "console_url")
    if missing := [name for name in needed if getattr(settings, name) is None]:
        names = ", ".join(f"DRUMBEAT_{name.upper()}" for name in missing)
        raise ConfigurationError("people cannot sign in at the provider", remedy=f"set {names}")
    if not issuer.startswith("https:") and urlsplit(issuer).hostname not in LOOPBACK:
        raise ConfigurationError(
            "anybody on the network could answer for the sign-in provider",
            remedy="let DRUMBEAT_CONSOLE_OIDC_ISSUER begin with https:",
        )
    assert settings.console_oidc_client_id is not None and settings.console_oidc_client_secret is not None
    return Provider(
        issuer,
        settings.console_oidc_client_id,
        settings.console_oidc_client_secret.get_secret_value(),
        f"{settings.console_url}{CALLBACK}",
        settings.console_oidc_role_claim,
        dict(_roles(settings.console_oidc_roles or "")),
        frozenset(_parts((settings.console_oidc_domains or "").lower())),
    )


def _parts(text: str) -> Iterator[str]:
    return (part.strip() for part in text.split(",") if part.strip())


def _roles(text: str) -> Iterator[tuple[str, Role]]:
    for part in _parts(text):
        group, _, role = (each.strip() for each in part.rpartition("="))
        if not group or role not in tuple(Role):
            raise ConfigurationError(
                f"{part!r} in DRUMBEAT_CONSOLE_OIDC_ROLES gives no group a role",
                remedy=f"write GROUP=ROLE, with a role of {', '.join(Role)}",
            )
        yield group, Role(role)


def name_in(claims: Mapping[str, Any], provider: Provider) -> str:
    """Return the name of the person here: the verified mail address, in lower case. NotAllowed if there is
    none, or if its domain may not enter.
    """
    address = claims.get("email")
    if not isinstance(address, str) or address.count("@") != 1 or not address.isascii():
        raise NotAllowed("the provider names no mail address: let it add the claim email")
    if claims.get("email_verified", True) not in (True, "true"):
        raise NotAllowed("the provider has not verified the mail address")
    if provider.domains and address.lower().partition("@")[2] not in provider.domains:
        raise NotAllowed("the domain of the mail address is not in DRUMBEAT_CONSOLE_OIDC_DOMAINS")
    return address.lower()


def role_in(claims: Mapping[str, Any], provider: Provider, known: Role | None) -> Role:
    """Return the role of the person: the highest of the person's groups, or if users are managed here, the
    one that the user has. NotAllowed if there is none.
    """
    if not provider.roles:
        if known is None:
            raise NotAllowed("there is no such user in the console")
        return known
    groups = _claim(claims, provider.role_claim)
    named = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    found = [provider.roles[group] for group in named if isinstance(group, str) and group in provider.roles]
    if not found:
        raise NotAllowed(f"no group in the claim {provider.role_claim} has a role in the console")
    return next(role for role in found if all(permits(role, other) for other in found))


def _claim(claims: Mapping[str, Any], path: str) -> Any:
    """Return a claim, by its name or by a path with dots, such as realm_access.roles."""
    if path in claims:
        return claims[path]
    value: Any = claims
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value
