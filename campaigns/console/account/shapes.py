"""The shapes of requests and replies about numbers, templates, users, tokens and the audit.

Replies are documented by their classes, and a test holds the server against the document.
"""

from typing import Annotated, Any, Literal

from pydantic import Field
from typing_extensions import TypedDict

from drumbeat.campaigns.account.numbers import BusinessNumber
from drumbeat.campaigns.account.templates import StoredTemplate
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.shapes import Asked, Limit
from drumbeat.campaigns.console.web.users import Token, User
from drumbeat.campaigns.results.subscriptions import Subscription
from drumbeat.engine.core.pace.token_bucket import LIMIT_PER_S_MAX, LIMIT_PER_S_MIN
from drumbeat.engine.core.recipient_event import PAGE_MAX, EventKind


class LimitRequest(Asked):
    """A limit for a number. `limit_per_s` null stands for the service's own limit."""

    limit_per_s: Annotated[float | None, Field(ge=LIMIT_PER_S_MIN, le=LIMIT_PER_S_MAX, allow_inf_nan=False)]


class NumberList(TypedDict):
    numbers: list[BusinessNumber]


class NumberResumed(TypedDict):
    phone_number_id: str
    reason: str | None
    paused_campaigns: list[str]


class NumberLimit(TypedDict):
    """The limit of a number that was asked for. `changed` is false while it waits for another person, which
    `note` says.
    """

    phone_number_id: str
    limit_per_s: float | None
    changed: bool
    note: str


class TemplateList(TypedDict):
    templates: list[StoredTemplate]


class TemplateRequest(Asked):
    """A template as the service takes it."""

    name: str
    language: str
    category: str
    components: Annotated[list[dict[str, Any]], Field(min_length=1)]
    parameter_format: Literal["POSITIONAL", "NAMED"] = "POSITIONAL"


class SubmittedTemplate(TypedDict):
    """A template after it was submitted. It waits for its review. The service may have changed the
    category.
    """

    name: str
    language: str
    template_id: str
    status: str
    category: str


class TemplateToDelete(Asked):
    """A template to delete. If `language` is null, all its languages are deleted."""

    language: str | None = None


class DeletedTemplate(TypedDict):
    name: str
    languages: list[str]


class UserRequest(Asked):
    """A user to store. If `password` is null, an existing user keeps the password, and a new one has none."""

    role: Role
    password: str | None = None


class UserList(TypedDict):
    users: list[User]


class StoredUser(TypedDict):
    name: str
    role: Role


class TokenRequest(Asked):
    name: str
    role: Role


class TokenList(TypedDict):
    tokens: list[Token]


class NewToken(TypedDict):
    """A new token. `token`: the secret. It is not shown again."""

    name: str
    role: Role
    token: str


class SubscriptionRequest(Asked):
    """A subscription to events of recipients. `url`: where they are posted, https only; null if the program
    fetches them. `secret`: signs what is posted; null to have one made. `campaign`: its name or external id;
    null for all. `kinds`: none stands for all.
    """

    name: str
    url: str | None = None
    secret: str | None = None
    campaign: str | None = None
    kinds: list[EventKind] = []


class SubscriptionList(TypedDict):
    subscriptions: list[Subscription]


class EventsQuery(Asked):
    after: Annotated[int, Field(ge=0, lt=2**63, description="The number of the last event that you know")] = 0
    limit: Annotated[int, Field(ge=1, le=PAGE_MAX, description="Events of the page, at most")] = 100
    campaign: str | None = None
    kind: Annotated[
        list[EventKind], Field(description="Repeat it for several kinds; none stands for all")
    ] = []


class AuditQuery(Asked):
    before: int | None = None
    limit: Limit = 100
