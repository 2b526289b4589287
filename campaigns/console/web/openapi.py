"""The OpenAPI document of the interface, made from its operations."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib.metadata import version
from typing import Any

import orjson
from aiohttp import web
from pydantic import BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema

from drumbeat.campaigns.console.web.context import Handler
from drumbeat.campaigns.console.web.operations import PREFIX, Operation
from drumbeat.campaigns.console.web.problems import CODES, CONTENT_TYPE
from drumbeat.campaigns.console.web.replying import KEY_CHARACTERS_MAX, KEY_HEADER
from drumbeat.campaigns.console.web.roles import Role
from drumbeat.campaigns.console.web.shapes import Job

Schema = dict[str, Any]
PATH = f"{PREFIX}/openapi.json"
TEXT: Schema = {"type": "string"}
SCHEMA_PATH = "#/components/schemas/{model}"
PROBLEM: Schema = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("type", "title", "detail", "where", "remedy", "key"), TEXT),
        "status": {"type": "integer"},
        "code": {"enum": CODES},
    },
    "required": ["type", "title", "status", "detail", "code", "where", "remedy", "key"],
    "additionalProperties": False,
}


def serving(make: Callable[[], Schema]) -> Handler:
    """Return the handler that sends the document."""

    async def serve(_: web.Request) -> web.Response:
        return web.Response(body=orjson.dumps(make()), content_type="application/json")

    return serve


def document(title: str, about: str, operations: Iterable[tuple[Role | None, Operation]]) -> Schema:
    """Return the document, in OpenAPI 3.1, of operations with the role that each needs."""
    schemas: dict[str, Schema] = {"Problem": PROBLEM}
    paths: dict[str, Schema] = {}
    for role, operation in operations:
        described = _describe(role, operation, schemas)
        paths.setdefault(PREFIX + operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": version("drumbeat"),
            "description": about,
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}],
    }


def _describe(role: Role | None, operation: Operation, schemas: dict[str, Schema]) -> Schema:
    reply = TEXT if operation.reply is None else _schema(operation.reply, schemas, "serialization")
    found: Schema = {
        "summary": operation.summary,
        "description": f"Needs the role {role}.",
        "operationId": name_of(operation.method, operation.path),
        "tags": [operation.path.split("/")[1]],
        "parameters": _parameters(operation, schemas),
        "responses": {
            str(operation.status): {
                "description": "Done",
                "content": {
                    kind.partition(";")[0]: {"schema": reply}
                    for kind in (operation.media_type, *operation.other_media_types)
                },
            },
            "default": {
                "description": "A problem",
                "content": {CONTENT_TYPE: {"schema": {"$ref": SCHEMA_PATH.format(model="Problem")}}},
            },
        },
    }
    if operation.takes_long:
        found["responses"]["202"] = {
            "description": "The work goes on as a job: `Location` is the address of its progress",
            "headers": {"Location": {"schema": TEXT}},
            "content": {operation.media_type: {"schema": _schema(Job, schemas, "serialization")}},
        }
    if operation.request is not None:
        body = _schema(operation.request, schemas, "validation")
        found["requestBody"] = {"required": True, "content": {operation.request_type: {"schema": body}}}
    return found


def name_of(method: str, path: str) -> str:
    """Return an operation's id, such as `create_campaign`, `list_campaign_recipients` or `sync_numbers`.

    A generated client names its functions after it.
    """
    if (given := _NAMES.get((method, path))) is not None:
        return given
    parts = path.replace("-", "_").strip("/").split("/")
    # What a variable follows is one thing of many.
    words = [
        _one(word) if at + 1 < len(parts) and parts[at + 1].startswith("{") else word
        for at, word in enumerate(parts)
        if not word.startswith("{")
    ]
    *owners, last = words
    is_one, is_many = parts[-1].startswith("{"), _one(last) != last
    match method:
        case "GET":
            return "_".join(["list" if is_many and not is_one else "get", *words])
        case "POST" if is_many:
            return "_".join(["create", *owners, _one(last)])
        case "POST":
            return "_".join([last, *owners])
        case _:
            return "_".join([_VERBS[method], *words])


# Those that the rule would name badly.
_NAMES = {
    ("POST", "/messages"): "send_message",
    ("POST", "/lists/{reference}/campaign"): "create_campaign_from_list",
    ("GET", "/campaigns/{name}/results"): "get_campaign_results",
    ("POST", "/campaigns/{name}/accept-category"): "accept_campaign_category",
    ("POST", "/campaigns/{name}/test-sends"): "send_campaign_test",
    ("POST", "/campaigns/{name}/retries"): "retry_campaign",
    ("POST", "/campaigns/{name}/clones"): "clone_campaign",
    ("POST", "/campaigns/{name}/doubts"): "settle_campaign",
    ("POST", "/campaigns/{name}/suppressions"): "suppress_campaign_recipients",
    ("DELETE", "/people/{phone}"): "forget_person",
    ("GET", "/suppressions/export"): "export_suppressions",
    ("GET", "/campaigns/{name}/export"): "export_campaign",
}
_VERBS = {"PUT": "set", "PATCH": "change", "DELETE": "delete"}
_ODD = {"people": "person", "replies": "reply", "progress": "progress"}


def _one(word: str) -> str:
    """Return the word for one of many: `campaign` for `campaigns`."""
    return _ODD.get(word, word.removesuffix("s"))


def _parameters(operation: Operation, schemas: dict[str, Schema]) -> list[Schema]:
    found: list[Schema] = [
        {"name": name, "in": "path", "required": True, "schema": TEXT}
        for name in re.findall(r"\{(\w+)\}", operation.path)
    ]
    query = _inline(operation.query, schemas)
    needed = query.get("required", ())
    found += [
        {"name": name, "in": "query", "required": name in needed, "schema": schema}
        for name, schema in query.get("properties", {}).items()
    ]
    if operation.takes_key:
        schema = {"type": "string", "maxLength": KEY_CHARACTERS_MAX}
        needs = operation.needs_key
        found.append({"name": KEY_HEADER, "in": "header", "required": needs, "schema": schema})
    return found


def _inline(model: type[BaseModel], schemas: dict[str, Schema]) -> Schema:
    schema = TypeAdapter(model).json_schema(ref_template=SCHEMA_PATH)
    schemas.update(schema.pop("$defs", {}))
    return schema


def _schema(model: Any, schemas: dict[str, Schema], mode: Any) -> Schema:
    """Return a reference to the schema of a class. Add to `schemas` that schema and all schemas that
    it uses.
    """
    schema = TypeAdapter(model).json_schema(ref_template=SCHEMA_PATH, mode=mode, schema_generator=_Schemas)
    schemas.update(schema.pop("$defs", {}))
    schemas[model.__name__] = schema
    return {"$ref": SCHEMA_PATH.format(model=model.__name__)}


class _Schemas(GenerateJsonSchema):
    """The schemas of classes. A reply has every member of its dataclass, also those with a default: else a
    client in a typed language would have to ask of each whether it is there.
    """

    def field_is_required(self, field: Any, total: bool) -> bool:
        whole = self.mode == "serialization" and field["type"] == "dataclass-field"
        return whole or super().field_is_required(field, total)
