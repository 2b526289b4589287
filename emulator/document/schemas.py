"""The shapes of requests and replies, as JSON Schema."""

from typing import Any

from drumbeat.emulator.content.table import CHECKS, MEDIA_TYPES
from drumbeat.emulator.templates.template import CATEGORIES, STATUSES

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
OBJECT: Schema = {"type": "object"}
NUMBER: Schema = {"type": "number"}
FLAG: Schema = {"type": "boolean"}
WHOLE: Schema = {"type": "integer"}
DIGITS: Schema = {"type": "string", "pattern": "^[1-9][0-9]{4,14}$"}
SUCCESS: Schema = {
    "type": "object",
    "properties": {"success": {"type": "boolean"}},
    "required": ["success"],
}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return the shape of an object with required and optional members. It may have more."""
    return {"type": "object", "properties": {**required, **(optional or {})}, "required": list(required)}


def array(items: Schema) -> Schema:
    """Return the shape of an array of one kind of element."""
    return {"type": "array", "items": items}


def reference(name: str) -> Schema:
    """Return a reference to a shape by its name."""
    return {"$ref": f"#/components/schemas/{name}"}


def page_of(name: str) -> Schema:
    """Return the shape of a page of a list."""
    cursors = record({"before": TEXT, "after": TEXT})
    paging = record({"cursors": cursors}, {"next": TEXT, "previous": TEXT})
    return record({"data": array(reference(name))}, {"paging": paging})


def schemas(product: str) -> dict[str, Schema]:
    """Return every named shape. `product` is the word that stands in `messaging_product`."""
    word: Schema = {"const": product}
    return {
        "Error": record({"error": record(
            {"message": TEXT, "type": TEXT, "code": {"type": "integer"}},
            {"error_data": {"type": "object"}, "fbtrace_id": TEXT},
        )}),
        "SendRequest": _send_request(word),
        "SendReply": {"anyOf": [
            record({
                "messaging_product": word,
                "contacts": array(record({"input": TEXT, "wa_id": TEXT})),
                "messages": array(record({"id": TEXT}, {"message_status": TEXT})),
            }),
            SUCCESS,
        ]},
        "Template": record(
            {"id": TEXT},
            {
                "name": TEXT,
                "language": TEXT,
                "status": {"enum": list(STATUSES)},
                "category": {"enum": list(CATEGORIES)},
                "components": array({"type": "object"}),
            },
        ),
        "NewTemplate": record(
            {
                "name": {"type": "string", "pattern": "^[a-z0-9_]{1,60}$"},
                "language": {"type": "string", "pattern": "^[a-z]{2}(_[A-Z]{2})?$"},
                "category": {"enum": list(CATEGORIES)},
                "components": {**array({"type": "object"}), "minItems": 1},
            },
            {"parameter_format": {"enum": ["POSITIONAL", "NAMED"]}},
        ),
        "CreatedTemplate": record({"id": TEXT, "status": TEXT, "category": TEXT}),
        "PhoneNumber": record(
            {"id": TEXT},
            {
                "display_phone_number": TEXT,
                "verified_name": TEXT,
                "quality_rating": {"enum": ["GREEN", "YELLOW", "RED", "UNKNOWN"]},
                "messaging_limit_tier": TEXT,
                "status": TEXT,
                "throughput": record({"level": {"enum": ["STANDARD", "HIGH"]}}),
            },
        ),
        "Profile": record(
            {"messaging_product": word},
            {"about": TEXT, "vertical": TEXT, "email": TEXT, "websites": array(TEXT)},
        ),
        "Upload": record(
            {"messaging_product": word, "type": TEXT, "file": {"type": "string", "format": "binary"}}
        ),
    }  # fmt: skip


def _send_request(word: Schema) -> Schema:
    kinds = ["template", *CHECKS]
    members = {kind: {"type": "array" if kind == "contacts" else "object"} for kind in kinds}
    members["template"] = record(
        {"name": TEXT, "language": record({"code": TEXT})}, {"components": array({"type": "object"})}
    )
    members["text"] = record({"body": TEXT}, {"preview_url": {"type": "boolean"}})
    members |= {kind: record({}, {"id": TEXT, "link": TEXT, "caption": TEXT}) for kind in MEDIA_TYPES}
    message = record(
        {"messaging_product": word, "to": DIGITS, "type": {"enum": kinds}},
        {
            "recipient_type": {"const": "individual"},
            "biz_opaque_callback_data": {"type": "string", "maxLength": 512},
            "context": record({"message_id": TEXT}),
            **members,
        },
    )
    read = record({"messaging_product": word, "status": {"const": "read"}, "message_id": TEXT})
    return {"anyOf": [message, read]}
