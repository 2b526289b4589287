"""The lines of `templates show`: each component, and what `campaign create` needs to fill it."""

from collections.abc import Iterator, Mapping
from typing import Any

from drumbeat.campaigns.account.templates import StoredTemplate
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.core.template.compiler import UnusableTemplate
from drumbeat.engine.core.template.placeholder import MEDIA, Placeholder

# A template whose header takes media compiles only with some. The placeholders do not depend on which.
_ANY_MEDIA = Media(media_id="0")
_HEADER_OPTIONS = "--header-column, --header-file, --header-link or --header-media-id"
_OPTIONAL = {
    "payload": "what your webhook gets when the button is pressed",
    "token": "what comes back with the answers of the form",
    "product": "the product whose picture the button shows",
}


def template_lines(stored: StoredTemplate) -> Iterator[str]:
    """Give a title, the components, then the options of `campaign create` in the order of `--param`."""
    yield f"{stored.name}  {stored.language}  {stored.status}  {stored.category or ''}".rstrip()
    if stored.status_reason:
        yield f"  reason: {sanitise(stored.status_reason)}"
    for component in stored.definition.get("components") or ():
        yield from _component_lines(component)
    template = CampaignTemplate(stored.name, stored.language, stored.definition, _ANY_MEDIA)
    if template.header_kind:
        yield f"  {_HEADER_OPTIONS}: {template.header_kind} of the header"
    try:
        required, optional = template.compiled().placeholders, template.optional_buttons()
    except UnusableTemplate as error:
        yield f"  not usable: {sanitise(error.what)}"
        return
    for placeholder in required:
        if placeholder.component != MEDIA:
            yield f"  {_option(placeholder)}"
    for placeholder in optional:
        yield f"  {_option(placeholder)}, optional: {_OPTIONAL[placeholder.name]}"


def _option(placeholder: Placeholder) -> str:
    """Return the option to write for a placeholder, such as `--param first_name:COLUMN`, and where the
    placeholder stands.
    """
    return f"--param {sanitise(placeholder.word)}:COLUMN  {sanitise(str(placeholder))}"


def _component_lines(component: Mapping[str, Any]) -> Iterator[str]:
    kind = sanitise(str(component.get("type", ""))).lower()
    buttons = component.get("buttons")
    if isinstance(buttons, list):
        for index, button in enumerate(buttons):
            yield f"  button {index}: {_button_text(button)}"
        return
    text = str(component.get("text") or component.get("format") or "")
    yield f"  {kind}: " + "\n".join(map(sanitise, text.split("\n")))


def _button_text(button: Mapping[str, Any]) -> str:
    text, kind = (sanitise(str(button.get(name) or "")) for name in ("text", "type"))
    url = sanitise(str(button.get("url") or ""))
    return f"{text} ({url or kind})".strip()
