"""The operations: the request and the reply of each route. A test keeps this table equal to the table of
routes.
"""

from typing import Any, NamedTuple

from drumbeat.emulator.document.commands import (
    ACCOUNT,
    BUSINESS_NUMBER,
    CATEGORY,
    EVENT,
    INCOMING,
    PREFERENCE,
    QUALITY,
    RECIPIENT,
    REVIEW,
    TOKEN,
    faults_body,
)
from drumbeat.emulator.document.schemas import (
    FLAG,
    NUMBER,
    OBJECT,
    SUCCESS,
    TEXT,
    WHOLE,
    Schema,
    array,
    page_of,
    record,
    reference,
)
from drumbeat.emulator.identity import IDENTITY

PAGE_QUERY: dict[str, Schema] = {
    "limit": {"type": "integer", "minimum": 1, "maximum": 1000},
    "after": TEXT,
    "before": TEXT,
    "fields": TEXT,
}


class Operation(NamedTuple):
    """An operation. `media_type` is the reply's. A control route needs no token."""

    summary: str
    reply: Schema
    request: Schema | None = None
    query: dict[str, Schema] = {}  # noqa: RUF012  # a tuple's default, never changed
    request_type: str = "application/json"
    is_body_optional: bool = False
    media_type: str = "application/json"


def interface(base: str, product: str) -> dict[tuple[str, str], Operation]:
    """Return the operations of the interface, by method and path."""
    filters = dict.fromkeys(("name", "status", "category", "language"), TEXT)
    profile = f"{base}/{{id}}/{product}_business_profile"
    subscription = record(
        {"callback_url": TEXT, "verify_token": TEXT},
        {"object": TEXT, "fields": {"type": ["string", "array"]}},
    )
    pin: Schema = {"type": "string", "pattern": "^[0-9]{6}$"}
    registration = record({"messaging_product": {"const": product}, "pin": pin})
    data = record({"data": array(OBJECT)})
    return {
        ("POST", f"{base}/{{id}}/messages"): Operation(
            "Send a message, or mark one as read", reference("SendReply"), reference("SendRequest")
        ),
        ("POST", f"{base}/{{id}}/media"): Operation(
            "Upload a file", record({"id": TEXT}), reference("Upload"), request_type="multipart/form-data"
        ),
        ("GET", f"{base}/{{id}}/message_templates"): Operation(
            "List templates", page_of("Template"), query={**PAGE_QUERY, **filters, "summary": TEXT}
        ),
        ("POST", f"{base}/{{id}}/message_templates"): Operation(
            "Submit a template for review", reference("CreatedTemplate"), reference("NewTemplate")
        ),
        ("DELETE", f"{base}/{{id}}/message_templates"): Operation(
            "Delete a template by name, in all its languages or one",
            SUCCESS,
            query={"name": TEXT, "hsm_id": TEXT},
        ),
        ("GET", f"{base}/{{id}}/phone_numbers"): Operation(
            "List phone numbers", page_of("PhoneNumber"), query=PAGE_QUERY
        ),
        ("POST", f"{base}/{{id}}/register"): Operation("Register a number", SUCCESS, registration),
        ("GET", profile): Operation(
            "Read the profile", record({"data": array(reference("Profile"))}), query={"fields": TEXT}
        ),
        ("POST", profile): Operation("Update the profile", SUCCESS, reference("Profile")),
        ("GET", f"{base}/{{id}}/subscriptions"): Operation("Show an app's subscription", data),
        ("POST", f"{base}/{{id}}/subscriptions"): Operation("Subscribe a callback", SUCCESS, subscription),
        ("DELETE", f"{base}/{{id}}/subscriptions"): Operation("Unsubscribe", SUCCESS),
        ("GET", f"{base}/{{id}}/subscribed_apps"): Operation(
            "Show the apps that get the events of an account", data
        ),
        ("POST", f"{base}/{{id}}/subscribed_apps"): Operation(
            "Add the token's app to these apps",
            SUCCESS,
            record({}, {"override_callback_uri": TEXT, "verify_token": TEXT}),
            is_body_optional=True,
        ),
        ("DELETE", f"{base}/{{id}}/subscribed_apps"): Operation(
            "Remove the token's app from these apps", SUCCESS
        ),
        ("GET", f"{base}/{{id}}"): Operation(
            "Show an account with analytics, a number, a template, or a file",
            OBJECT,
            query={"fields": TEXT, "phone_number_id": TEXT},
        ),
        ("DELETE", f"{base}/{{id}}"): Operation("Delete a file", SUCCESS, query={"phone_number_id": TEXT}),
        ("GET", "/media/{ticket}"): Operation("Download a file", {}, media_type="application/octet-stream"),
    }


def control() -> dict[tuple[str, str], Operation]:
    """Return the operations of the control plane."""
    faults = record({"faults": array(OBJECT)})
    health = record({"status": {"const": "ok"}, "identity": {"const": IDENTITY}, "cpu_s": NUMBER})
    paths: dict[tuple[str, str], Operation] = {
        ("GET", "health"): Operation("Show that it is alive, its identity, and its settings", health),
        ("POST", "reset"): Operation(
            "Reset the state", SUCCESS, record({}, {"seed": WHOLE}), is_body_optional=True
        ),
        ("POST", "accounts"): Operation("Open or change an account", SUCCESS, ACCOUNT),
        ("POST", "apps"): Operation("Add an app", SUCCESS, record({"id": TEXT, "secret": TEXT})),
        ("POST", "numbers"): Operation("Register or change a number", SUCCESS, BUSINESS_NUMBER),
        ("POST", "tokens"): Operation("Add or revoke a token", SUCCESS, TOKEN),
        ("POST", "templates/{name}/status"): Operation("Decide a review", SUCCESS, REVIEW),
        ("POST", "templates/{name}/category"): Operation("Move a template", SUCCESS, CATEGORY),
        ("POST", "templates/{name}/quality"): Operation("Rate a template", SUCCESS, QUALITY),
        ("POST", "events"): Operation("Announce any event", SUCCESS, EVENT),
        ("POST", "preferences"): Operation("Let a customer stop or resume", SUCCESS, PREFERENCE),
        ("POST", "callback"): Operation("Set the callback", SUCCESS, record({}, {"url": TEXT})),
        ("POST", "statuses"): Operation("Turn statuses on or off", SUCCESS, record({"on": FLAG})),
        ("POST", "clock"): Operation("Advance the clock", SUCCESS, record({"seconds": NUMBER})),
        ("GET", "faults"): Operation("List the faults in force", faults),
        ("POST", "faults"): Operation("Add faults", faults, faults_body()),
        ("DELETE", "faults"): Operation("Clear the faults", SUCCESS),
        ("POST", "scenario"): Operation("Play a scenario", SUCCESS, TEXT, request_type="application/toml"),
        ("GET", "snapshot"): Operation("Show the whole state", OBJECT),
        ("POST", "snapshot"): Operation("Write the state to a file", SUCCESS, record({"path": TEXT})),
        ("POST", "restore"): Operation("Restore a state", SUCCESS, OBJECT),
        ("GET", "ledger"): Operation(
            "List the accepted messages",
            record({"messages": array(OBJECT), "next": {"type": ["integer", "null"]}}),
            query={
                "after": {"type": "integer", "minimum": 0},
                "limit": {"type": "integer", "minimum": 0},
                "format": {"const": "json"},
            },
        ),
        ("GET", "ledger/summary"): Operation(
            "Show the counts of accepted messages", record({"accepted": WHOLE, "numbers": OBJECT})
        ),
        ("GET", "overview"): Operation("Show the values of the web page", OBJECT),
        ("POST", "incoming"): Operation("Let a customer write in", SUCCESS, INCOMING),
        ("POST", "recipients"): Operation("Set the behaviour of a recipient", SUCCESS, RECIPIENT),
        ("POST", "reads"): Operation("Let a recipient read a message now", SUCCESS, record({"id": TEXT})),
        ("GET", "events/summary"): Operation("Count the events by result", record({"pending": WHOLE})),
    }
    return {(method, f"/_emulator/{path}"): operation for (method, path), operation in paths.items()}


def document_operation(operation: Operation, variables: list[str], *, secured: bool) -> dict[str, Any]:
    """Return one operation as OpenAPI writes it."""
    parameters: list[dict[str, Any]] = [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "pattern": "^[0-9a-z_.]+$"},
        }
        for name in variables
    ]
    parameters += [
        {"name": name, "in": "query", "schema": schema} for name, schema in operation.query.items()
    ]
    content: dict[str, Any] = {operation.media_type: {"schema": operation.reply}}
    failed = {"application/json": {"schema": reference("Error")}}
    described: dict[str, Any] = {
        "summary": operation.summary,
        "parameters": parameters,
        "responses": {
            "200": {"description": "Done", "content": content},
            "default": {"description": "An error of the service", "content": failed},
        },
        "security": [{"token": []}] if secured else [],
    }
    if operation.request is not None:
        body = {operation.request_type: {"schema": operation.request}}
        described["requestBody"] = {
            "required": not operation.is_body_optional,
            "content": body,
        }
    return described
