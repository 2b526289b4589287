"""Events about templates and numbers, as the receiver stores them."""

from typing import Any

from drumbeat.engine.store.database import Connection
from drumbeat.engine.webhooks.body_group import BodyGroup, write
from tests.webhooks.conversation import PRODUCT, change_body


async def store_event(connection: Connection, field: str, value: dict[str, Any], **entry: Any) -> None:
    body = change_body(field, value, **entry)
    group = BodyGroup(PRODUCT)
    group.add(body)
    await write(connection, group)


async def store_template_event(
    connection: Connection, event: str, language: str = "pt_BR", reason: str | None = None, **entry: Any
) -> None:
    group = BodyGroup(PRODUCT)
    group.add(template_body(event, language, reason, **entry))
    await write(connection, group)


def template_body(event: str, language: str = "pt_BR", reason: str | None = None, **entry: Any) -> bytes:
    value = {"event": event, "message_template_name": "offer", "message_template_language": language}
    return change_body("message_template_status_update", value | {"reason": reason}, **entry)


async def plant_template(connection: Connection, language: str = "pt_BR") -> None:
    await connection.execute(
        "INSERT INTO templates (name, language, status, definition) VALUES ('offer', $1, 'APPROVED', '{}')",
        language,
    )
