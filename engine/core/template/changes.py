"""The comparison of the templates that a campaign froze with what the service has now."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.core.template.compiler import UnusableTemplate
from drumbeat.engine.core.template.placeholder_changes import request_changes

# The service's definitions of templates, by name and language.
Definitions: TypeAlias = Mapping[tuple[str, str], Mapping[str, Any]]
_ANY_MEDIA = Media(media_id="0")  # a header that needs media now is a change, whatever the media


@dataclass(frozen=True, slots=True)
class TemplateChanges:
    """The differences, one text for each template. `misfits`: the service would refuse the campaign's
    messages.

    `texts`: the messages fit, and their readers see other words.
    """

    misfits: tuple[str, ...]
    texts: tuple[str, ...]


def template_changes(frozen: Sequence[CampaignTemplate], now: Definitions) -> TemplateChanges:
    """Compare every template that some recipient gets."""
    misfits, texts = [], []
    for template in frozen:
        if template.message is not None or template.recipients == 0:
            continue
        what = f"{template.name} ({template.language})"
        definition = now.get((template.name, template.language))
        if definition is None:
            misfits.append(f"{what} no longer exists")
        elif problem := _misfit(template, definition):
            misfits.append(f"{what}: {problem}")
        elif _visible(template.definition) != _visible(definition):
            texts.append(what)
    return TemplateChanges(tuple(misfits), tuple(texts))


def misfit_text(changes: TemplateChanges) -> str:
    """Return the misfits in one sentence, for the reason of a pause and for errors."""
    return f"its template changed after the campaign was created: {'; '.join(changes.misfits)}"


def _misfit(template: CampaignTemplate, definition: Mapping[str, Any]) -> str:
    media = template.header_media or _ANY_MEDIA
    try:
        now = replace(template, definition=dict(definition), header_media=media).compiled()
    except UnusableTemplate as error:
        return error.what
    return ", ".join(request_changes(template.compiled(), now))


def _visible(definition: Mapping[str, Any]) -> list[Any]:
    """Return the components without the examples of their review: links in them expire and are renewed."""
    return [_without_examples(component) for component in definition.get("components") or ()]


def _without_examples(component: Mapping[str, Any]) -> dict[str, Any]:
    return dict(_kept(component))


def _kept(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, value in part.items():
        if name == "buttons" and isinstance(value, list):
            yield name, [_without_examples(button) for button in value]
        elif name != "example":
            yield name, value
