"""The message templates of an account: created, listed, read and deleted."""

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from drumbeat.engine.api.caller import Caller
from drumbeat.engine.api.fields import objects_of, text_of
from drumbeat.engine.api.paging import entries
from drumbeat.engine.api.service_error import ServiceError

_FIELDS = "id,name,language,status,category,components,parameter_format"


@dataclass(frozen=True, slots=True)
class TemplateRecord:
    """A template as the service lists it. Name and language form its key."""

    name: str
    language: str
    status: str
    category: str
    components: list[dict[str, Any]]
    parameter_format: str
    template_id: str

    def definition(self) -> dict[str, Any]:
        """Return the argument for `engine.core.template.compiler.compile_template`."""
        return {
            "name": self.name,
            "language": self.language,
            "components": self.components,
            "parameter_format": self.parameter_format,
        }


@dataclass(frozen=True, slots=True)
class NewTemplate:
    """A template to be reviewed. Each variable needs an example, or the review fails."""

    name: str
    language: str
    category: str
    components: Sequence[Mapping[str, Any]]
    parameter_format: str = "POSITIONAL"


@dataclass(frozen=True, slots=True)
class CreatedTemplate:
    """The answer to a new template, which waits for its review. The service may have changed the category."""

    template_id: str
    status: str
    category: str


class Templates:
    """The rows `/{account}/message_templates` and `/{template ID}`."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    async def list(
        self,
        waba_id: str,
        *,
        name: str | None = None,
        language: str | None = None,
        status: str | None = None,
        category: str | None = None,
    ) -> AsyncIterator[TemplateRecord]:
        """Yield the templates of an account that have these properties."""
        wanted = {"name": name, "language": language, "status": status, "category": category}
        query = {"fields": _FIELDS, **{key: value for key, value in wanted.items() if value is not None}}
        async for entry in entries(self._caller, f"{waba_id}/message_templates", query):
            if entry.get("name") and entry.get("language"):
                yield template_record(entry)

    async def get(self, template_id: str) -> TemplateRecord:
        """Return one template."""
        return template_record(await self._caller.manage("GET", template_id, query={"fields": _FIELDS}))

    async def create(self, waba_id: str, template: NewTemplate) -> CreatedTemplate:
        """Submit a template for review."""
        content = {
            "name": template.name,
            "language": template.language,
            "category": template.category,
            "parameter_format": template.parameter_format,
            "components": list(template.components),
        }
        path = f"{waba_id}/message_templates"
        answer = await self._caller.manage("POST", path, content=content)
        if not (template_id := text_of(answer, "id")):
            raise ServiceError("the answer names no template", where=path)
        category = text_of(answer, "category") or template.category
        return CreatedTemplate(template_id, text_of(answer, "status") or "PENDING", category)

    async def delete(self, waba_id: str, name: str, template_id: str | None = None) -> None:
        """Delete a template in all its languages, or only the one with this id."""
        query = {"name": name} if template_id is None else {"name": name, "hsm_id": template_id}
        await self._caller.manage("DELETE", f"{waba_id}/message_templates", query=query)


def template_record(entry: Mapping[str, Any]) -> TemplateRecord:
    return TemplateRecord(
        name=text_of(entry, "name"),
        language=text_of(entry, "language"),
        status=text_of(entry, "status"),
        category=text_of(entry, "category"),
        components=objects_of(entry, "components"),
        parameter_format=text_of(entry, "parameter_format") or "POSITIONAL",
        template_id=text_of(entry, "id"),
    )
