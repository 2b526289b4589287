"""The lines of `templates show`: each component, and what `campaign create` needs to fill it."""

from collections.abc import Iterator, Mapping
from typing import Any

from campaigns.account.templates import StoredTemplate
from engine.core.campaign_template import CampaignTemplate
from engine.core.message import Media, UnusableTemplate
from engine.core.sanitise import sanitise

# A template whose header takes media compiles only with some. The placeholders do not depend on which.
_ANY_MEDIA = Media(media_id="0")


def template_lines(stored: StoredTemplate) -> Iterator[str]:
    """A title, the components, then the options of `campaign create` in the order of `--param`."""
    yield f"{stored.name}  {stored.language}  {stored.status}  {stored.category or ''}".rstrip()
    for component in stored.definition.get("components") or ():
        yield f"  {_component_text(component)}"
    template = CampaignTemplate(stored.name, stored.language, stored.definition, _ANY_MEDIA)
    if template.header_kind:
        yield f"  --header-link or --header-media-id: {template.header_kind} of the header"
    try:
        placeholders = template.compiled().placeholders
    except UnusableTemplate as error:
        yield f"  not usable: {sanitise(error.what)}"
        return
    for number, placeholder in enumerate(placeholders, 1):
        yield f"  --param {number}: {placeholder.component} {{{{{sanitise(placeholder.name)}}}}}"


def _component_text(component: Mapping[str, Any]) -> str:
    kind = sanitise(str(component.get("type", ""))).lower()
    buttons = component.get("buttons")
    if isinstance(buttons, list):
        return f"{kind}: " + ", ".join(map(_button_text, buttons))
    text = str(component.get("text") or component.get("format") or "")
    return f"{kind}: " + "\n".join(map(sanitise, text.split("\n")))


def _button_text(button: Mapping[str, Any]) -> str:
    text, url = sanitise(str(button.get("text", ""))), sanitise(str(button.get("url") or ""))
    return f"{text} ({url})" if url else text
