"""The second step of a new campaign: the message. It has a template, the values that fill it, and the text
that people will read.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field, replace
from typing import Any

from aiohttp import web
from pydantic import ValidationError

from drumbeat.campaigns.account.templates import StoredTemplate, list_templates
from drumbeat.campaigns.console.new.actions import spec_of
from drumbeat.campaigns.console.new.choices import reading_of, write_choices
from drumbeat.campaigns.console.new.create_request import HEADER_SOURCES, request_of
from drumbeat.campaigns.console.new.header_uploads import (
    FILE,
    drop_header_file,
    store_header_file,
    stored_header_file,
)
from drumbeat.campaigns.console.new.language_values import LanguageValue, counted_values, language_values
from drumbeat.campaigns.console.new.message_choices import (
    OF_A_TEMPLATE,
    Slot,
    chosen_slots,
    comparable,
    languages_of,
    message_part,
    slots_of,
    template_of,
    with_guessed_language,
)
from drumbeat.campaigns.console.new.named import upload_of
from drumbeat.campaigns.console.new.sending_choices import Wrong, wrong_of
from drumbeat.campaigns.console.new.step import Step, step_of
from drumbeat.campaigns.console.web.context import console_of
from drumbeat.campaigns.console.web.forms import form_of, next_part
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.rendering import page, path_of, redirect, with_query
from drumbeat.campaigns.planning.staged.first_messages import FirstMessage
from drumbeat.campaigns.preview.draft_messages import Sample, draft_messages, read_sample
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.rendering import RenderedMessage, render_message
from drumbeat.engine.errors import DrumbeatError

SAMPLE_FILE = "sample.json"
NOT_CHOSEN_YET: dict[str, Any] = {"name": "not named yet", "number": ["0"]}  # no message depends on them
NO_MEDIA_YET = {"header": "id", "header_media_id": "…"}


@dataclass(frozen=True, slots=True)
class MessageStep:
    """The values of the step. `chosen`: the template, if one is chosen. `at`: the index of the message that
    is shown. `wrong`: the reason why there are no messages. `unset`: the choices that are still missing, once
    somebody wanted to go on.
    """

    step: Step
    templates: list[StoredTemplate]
    chosen: CampaignTemplate | None
    slots: list[Slot] = field(default_factory=list)
    messages: list[FirstMessage] = field(default_factory=list)
    at: int = 0
    wrong: Wrong | None = None
    unset: list[Slot] = field(default_factory=list)
    language_values: list[LanguageValue] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        return list(dict.fromkeys(each.name for each in self.templates))

    def of_name(self, name: str) -> list[StoredTemplate]:
        return [each for each in self.templates if each.name == name]

    @property
    def languages(self) -> list[str]:
        return [] if self.chosen is None else languages_of(self.templates, self.chosen.name)

    @property
    def comparable(self) -> list[str]:
        return [] if self.chosen is None else comparable(self.templates, self.chosen)

    @property
    def weights(self) -> dict[str, str]:
        """Return the shares of the variants by their templates."""
        given = (each.partition("=")[2].partition(":") for each in self.step.choices.get("variant", ()))
        return {name: weight for name, _, weight in given}

    @property
    def header(self) -> str:
        """Return the source of the header's media."""
        given = (kind for kind, name in HEADER_SOURCES.items() if self.step.choices.get(name))
        return str(self.step.choices.get("header") or next(given, FILE))

    @property
    def lacks_media(self) -> bool:
        """Return whether the header takes media, and nobody chose them yet."""
        if self.chosen is None or not self.chosen.header_kind:
            return False
        if self.header == FILE:
            return stored_header_file(self.step.upload) is None
        return not self.step.choices.get(HEADER_SOURCES[self.header])

    @property
    def header_file(self) -> str:
        """Return the name of the uploaded file of the header, or an empty text without one."""
        file = stored_header_file(self.step.upload)
        return "" if file is None else file.name

    @property
    def plain(self) -> RenderedMessage:
        """Return the message with its placeholders."""
        assert self.chosen is not None
        return render_message(self.chosen.definition.get("components") or (), (), ())

    @property
    def shown(self) -> FirstMessage | None:
        return self.messages[self.at] if self.messages else None


async def show_message(request: web.Request) -> web.Response:
    """Show the step. `row` in the address is the index of the sampled row that is shown."""
    row = request.query.get("row", "0")
    step = await step_of(request)
    view = await _view(request, step, int(row) if row.isdecimal() and len(row) < 4 else 0)
    return page(request, "new_message.html.j2", message=view)


async def choose_template(request: web.Request) -> web.Response:
    """Choose a template. Another template has other placeholders, so the values for the former one are
    forgotten.
    """
    fields = await form_of(request)
    name, _, language = str(fields.get("template", "")).partition(" ")
    step, stored = await step_of(request), await list_templates(console_of(request).pool)
    if template_of(stored, name, language) is None:
        raise Refused(422, "wrong_input", what="no approved template was chosen")
    if step.choices.get("template") != name:
        drop_header_file(step.upload)
        forgotten = dict.fromkeys(OF_A_TEMPLATE)
        write_choices(step.upload, **forgotten, template=name, language=language)
    return redirect(step.path("message"))


async def save_message(request: web.Request) -> web.Response:
    """Keep the form. `go` names the page to show: the next step if the message is complete, or a row."""
    fields: Any = await form_of(request)
    step = await step_of(request)
    view = await _view(request, step, 0)
    if view.chosen is None:
        raise Refused(422, "wrong_input", what="no template was chosen")
    part = message_part(chosen_slots(view.slots, fields), step.choices, fields)
    if view.chosen.header_kind != "document":  # only documents show a name
        part["header_filename"] = None
    write_choices(step.upload, **part)
    go, _, row = str(fields.get("go", "")).partition(":")
    if go != "next":
        return redirect(with_query(step.path("message"), row=row))
    step = await step_of(request)
    view = await _view(request, step, 0, is_complete=True)
    if unset := [slot for slot in view.slots if slot.is_unset]:
        message = replace(await _view(request, step, 0), unset=unset)
        return page(request, "new_message.html.j2", 422, message=message)
    if view.wrong is not None:
        return page(request, "new_message.html.j2", view.wrong.problem.status, message=view)
    return redirect(step.path("sending"))


async def save_header_file(request: web.Request) -> web.Response:
    upload, part = upload_of(request), await next_part(request, "header_file")
    try:
        await store_header_file(upload, part)
    except Refused as error:
        view = replace(await _view(request, await step_of(request), 0), wrong=wrong_of(error))
        return page(request, "new_message.html.j2", error.problem.status, message=view)
    write_choices(upload, header=FILE)
    return redirect(path_of("new", upload.reference, "message"))


async def _view(request: web.Request, step: Step, at: int, *, is_complete: bool = False) -> MessageStep:
    stored = await list_templates(console_of(request).pool)
    choices = with_guessed_language(step.choices, stored, step.seen)
    step = replace(step, choices=choices)
    chosen = template_of(stored, choices.get("template", ""), choices.get("language", ""))
    if chosen is None:
        return MessageStep(step, stored, None)
    view = MessageStep(step, stored, chosen)
    try:
        counts = await counted_values(step.upload, choices)
        values = language_values(counts, view.languages, choices.get("language_map", {}))
        view = replace(view, language_values=values)
        view = replace(view, slots=slots_of(chosen, choices, step.seen, step.phone_column))
        messages = await _messages(request, view, is_complete=is_complete)
    except (DrumbeatError, ValidationError) as error:
        return replace(view, wrong=wrong_of(error))
    return replace(view, messages=messages, at=min(at, max(0, len(messages) - 1)))


async def _messages(request: web.Request, view: MessageStep, *, is_complete: bool) -> list[FirstMessage]:
    """Return the messages of the first rows, as people read them. Unless `is_complete`, texts and the
    header's media may be missing.
    """
    step, slots, more = view.step, view.slots, dict(NOT_CHOSEN_YET)
    if not is_complete:
        slots = [slot.with_some_text() for slot in slots]
        more |= NO_MEDIA_YET if view.lacks_media else {}
    more["phone_column"] = step.phone_column
    more["param"] = [slot.param for slot in slots if slot.param is not None]
    async with step.upload.errors_named():
        spec = spec_of(request_of(step.choices, **more), step.upload)
        return await draft_messages(console_of(request).pool, spec, await _sample(step))


async def _sample(step: Step) -> Sample:
    """Return the sampled rows. They are kept beside the file, because reading a large workbook takes
    seconds.
    """
    upload, reading = step.upload, reading_of(step.choices)
    kept, key = upload.read_json(SAMPLE_FILE), repr(reading)
    if kept is None or kept["key"] != key:
        sample = await asyncio.to_thread(read_sample, upload.path, reading)
        kept = {"key": key, "columns": sample.columns, "lines": sample.lines, "rows": sample.rows}
        upload.write_json(SAMPLE_FILE, kept)
    return Sample(kept["columns"], kept["lines"], kept["rows"])
