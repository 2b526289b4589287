"""A new campaign, step 2: the message. A template, and what fills its placeholders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from aiohttp import web

from campaigns.account.templates import StoredTemplate, list_templates
from campaigns.audience.glimpse import guess_params
from campaigns.console.choices import write_choices
from campaigns.console.context import console_of
from campaigns.console.pages.new_campaign import Step, step_of
from campaigns.console.pages.rendering import page, redirect
from campaigns.console.problems import Refused
from campaigns.planning.template import SENDABLE_STATUS, placeholders_of
from engine.core.campaign_template import CampaignTemplate
from engine.core.rendering import RenderedMessage, render_message


@dataclass(frozen=True, slots=True)
class MessageStep:
    """`chosen`: the template, if one is chosen yet."""

    step: Step
    templates: list[StoredTemplate]
    chosen: CampaignTemplate | None

    @property
    def placeholders(self) -> Any:
        return placeholders_of(self.chosen) if self.chosen else ()

    @property
    def plain(self) -> RenderedMessage:
        """The message with its placeholders."""
        assert self.chosen is not None
        return render_message(self.chosen.definition.get("components") or (), (), ())

    @property
    def params(self) -> list[str]:
        given: list[str] = self.step.choices.get("param", [])
        guessed = guess_params(self.step.seen.columns, self.placeholders, self.step.phone_column)
        return given if len(given) == len(guessed) else guessed


async def show_message(request: web.Request) -> web.Response:
    """With `template` in the address, the form asks for its placeholders."""
    return page(request, "new_message.html.j2", message=await _message_step(request, request.query))


async def save_message(request: web.Request) -> web.Response:
    fields: Any = await request.post()
    message = await _message_step(request, fields)
    if message.chosen is None:
        raise Refused(422, "wrong_input", what="no template was chosen")
    write_choices(
        message.step.upload,
        template=message.chosen.name,
        language=message.chosen.language,
        param=[str(param) for param in fields.getall("param", [])],
        header_link=str(fields.get("header_link", "")).strip() or None,
    )
    return redirect(message.step.path("sending"))


async def _message_step(request: web.Request, fields: Any) -> MessageStep:
    step = await step_of(request)
    templates = [
        each for each in await list_templates(console_of(request).pool) if each.status == SENDABLE_STATUS
    ]
    kept = f"{step.choices.get('template', '')} {step.choices.get('language', '')}"
    return MessageStep(step, templates, _chosen(templates, str(fields.get("template", kept))))


def _chosen(templates: list[StoredTemplate], wanted: str) -> CampaignTemplate | None:
    for each in templates:
        if f"{each.name} {each.language}" == wanted:
            return CampaignTemplate(each.name, each.language, each.definition, None)
    return None
