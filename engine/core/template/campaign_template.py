"""The templates of a campaign, as its plan froze them.

A campaign has one template or several, such as one for each language. The column
`recipients.template_index` says which of them a recipient gets. All have the same placeholders, because a
recipient has one list of values.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, Self, TypeAlias

from drumbeat.engine.core.template.buttons import fillable_buttons
from drumbeat.engine.core.template.compiled import MEDIA_FORMATS, CompiledTemplate, Media
from drumbeat.engine.core.template.compiler import compile_template
from drumbeat.engine.core.template.free_form import compile_message
from drumbeat.engine.core.template.placeholder import Placeholder

# Makes the body of a message from the phone, the values and the tag; see `CompiledTemplate.payload`.
MakePayload: TypeAlias = Callable[[int | str, Sequence[str], str | None], bytes]

_OTHERS = "others"  # key of the templates after the first; earlier versions had one template and no such key


@dataclass(frozen=True, slots=True)
class CampaignTemplate:
    """A template as the service defines it, with the media of its header; or a free-form `message`.

    `name` is the template's name, or the type of a free-form message. `variant` is its name in an experiment.
    `recipients` counts those who get it, if the campaign has several templates. `buttons` are the indexes of
    optional buttons that are filled.
    """

    name: str
    language: str
    definition: dict[str, Any]
    header_media: Media | None
    message: dict[str, Any] | None = None
    variant: str = ""
    recipients: int | None = None
    buttons: tuple[int, ...] = ()

    def compiled(self, product: str = "") -> CompiledTemplate:
        """Return the template ready for its values. Raises UnusableTemplate if it cannot be sent.

        `product` is the service's word for itself in each payload. A caller that builds no payload can leave
        it out.
        """
        if self.message is not None:
            return compile_message(self.message, product)
        definition = {**self.definition, "name": self.name, "language": self.language}
        return compile_template(definition, product, header_media=self.header_media, buttons=self.buttons)

    def filled(self, buttons: Sequence[int]) -> Self:
        """Return the same template, with these optional buttons filled."""
        return replace(self, buttons=tuple(buttons))

    def optional_buttons(self) -> list[Placeholder]:
        """Return the placeholders of buttons that a message may leave as they are."""
        parts = {str(part.get("type", "")).upper(): part for part in self.definition.get("components") or ()}
        buttons = parts.get("BUTTONS", {}).get("buttons") or ()
        return [button.placeholder for button in fillable_buttons(buttons) if button.kind.is_optional]

    @property
    def header_kind(self) -> str:
        """Return `image`, `video` or `document` if the header takes such media; else an empty text."""
        for component in self.definition.get("components") or ():
            form = str(component.get("format") or "").upper()
            if str(component.get("type", "")).upper() == "HEADER" and form in MEDIA_FORMATS:
                return form.lower()
        return ""

    def _frozen(self) -> dict[str, Any]:
        media = self.header_media
        return {
            "name": self.name,
            "language": self.language,
            "definition": self.definition,
            "header_media": None if media is None else asdict(media),
            **({} if self.message is None else {"message": self.message}),
            **({"buttons": self.buttons} if self.buttons else {}),
            **({"variant": self.variant} if self.variant else {}),
            **({} if self.recipients is None else {"recipients": self.recipients}),
        }


def freeze_templates(templates: Sequence[CampaignTemplate]) -> dict[str, Any]:
    """Return the JSON of the column `campaigns.template`."""
    first, *others = [template._frozen() for template in templates]
    return {**first, **({_OTHERS: others} if others else {})}


def frozen_templates(stored: Mapping[str, Any]) -> tuple[CampaignTemplate, ...]:
    """Return the templates in the column `campaigns.template`, in the order of `template_index`."""
    return tuple(map(_thawed, stored_parts(stored)))


def stored_parts(stored: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the stored templates, each as its own JSON, in the order of `template_index`."""
    return (stored, *stored.get(_OTHERS, ()))


def _thawed(stored: Mapping[str, Any]) -> CampaignTemplate:
    media = stored.get("header_media")
    return CampaignTemplate(
        stored["name"],
        stored["language"],
        stored["definition"],
        Media(**media) if media else None,
        stored.get("message"),
        stored.get("variant", ""),
        stored.get("recipients"),
        tuple(stored.get("buttons", ())),
    )


def make_payloads(
    templates: Sequence[CompiledTemplate], sources: Mapping[str, str] | None = None
) -> list[MakePayload]:
    """Return the functions that make a recipient's message, by `template_index`.

    Every function takes the values in the order of the first template's placeholders, whatever the order in
    its own template. `sources` is described at `payload_with_media`. It is None if no header has media that
    differ by recipient.
    """
    first = templates[0].placeholders
    return [
        _in_order(
            template.payload if sources is None else partial(template.payload_with_media, sources),
            value_order(first, template.placeholders),
        )
        for template in templates
    ]


def _in_order(payload: MakePayload, order: Sequence[int]) -> MakePayload:
    if order == list(range(len(order))):
        return payload

    def make(to: int | str, variables: Sequence[str], tag: str | None) -> bytes:
        return payload(to, [variables[at] for at in order], tag)

    return make


def value_order(first: Sequence[Placeholder], other: Sequence[Placeholder]) -> list[int]:
    """Return, for each placeholder of `other`, the position of its value among those of `first`.

    Raises ValueError if the two do not have the same placeholders.
    """
    positions: dict[Placeholder, list[int]] = {}
    for position, placeholder in enumerate(first):
        positions.setdefault(placeholder, []).append(position)
    if Counter(first) != Counter(other):
        raise ValueError("the templates of a campaign have different placeholders")
    return [positions[placeholder].pop(0) for placeholder in other]
