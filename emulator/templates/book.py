"""The templates of one account, and which of them a send may use."""

from collections.abc import Iterator

from drumbeat.emulator.errors import Refused
from drumbeat.emulator.templates.template import Template

# The error for a send, by the status of the template (open point: 132015, 132016).
_REFUSALS = {
    "PENDING": (132001, "is waiting for review"),
    "REJECTED": (132001, "was rejected"),
    "IN_APPEAL": (132001, "was rejected, and an appeal waits for its decision"),
    "PENDING_DELETION": (132001, "is being deleted"),
    "PAUSED": (132015, "is paused because of low quality"),
    "DISABLED": (132016, "was disabled because of low quality"),
}
# Templates that an account may have (a limit of the emulator).
TEMPLATE_LIMIT = 6_000


class TemplateBook:
    """The templates by (name, language), in the order of creation."""

    def __init__(self) -> None:
        self.by_key: dict[tuple[str, str], Template] = {}

    def __iter__(self) -> Iterator[Template]:
        return iter(self.by_key.values())

    def __len__(self) -> int:
        return len(self.by_key)

    def clear(self) -> None:
        """Remove all templates."""
        self.by_key.clear()

    def add(self, template: Template) -> None:
        """Add a template. `Refused` (100) if the name exists in that language, or the account is full."""
        key = template.name, template.language
        if key in self.by_key:
            raise Refused(100, f"template {template.name} exists in {template.language}")
        if len(self.by_key) >= TEMPLATE_LIMIT:
            raise Refused(100, f"an account may have {TEMPLATE_LIMIT} templates")
        self.by_key[key] = template

    def get(self, name: str, language: str) -> Template | None:
        """Return the template of a name in a language."""
        return self.by_key.get((name, language))

    def named(self, name: str, language: str | None = None) -> list[Template]:
        """Return every template of a name, or the one in a language."""
        return [each for each in self if each.name == name and language in (None, each.language)]

    def with_id(self, template_id: str) -> Template | None:
        """Return the template with an id."""
        return next((each for each in self if each.id == template_id), None)

    def remove(self, name: str, template_id: str | None = None) -> None:
        """Delete a name in all its languages, or one template by its id; `Refused` (132001) without any."""
        templates = [each for each in self.named(name) if template_id in (None, each.id)]
        if not templates:
            with_id = "" if template_id is None else f" with id {template_id}"
            raise Refused(132001, f"template {name}{with_id} does not exist")
        for template in templates:
            del self.by_key[template.name, template.language]

    def refusal(self, name: str, language: str) -> Refused:
        """Return the reason why a send may not use this name and language code: there is no template, or it
        is not approved.
        """
        template = self.get(name, language)
        if template is None:
            return Refused(132001, f"template name ({name}) does not exist in {language}")
        code, why = _REFUSALS[template.status]
        return Refused(code, f"template name ({name}) in {language} {why}")
