"""The third step of a new campaign: the sending. It has name, numbers, times and guards, then a check, and
the draft.
"""

from __future__ import annotations

import hashlib
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import PurePath
from typing import Any

from aiohttp import web

from drumbeat.campaigns.account.numbers import list_numbers
from drumbeat.campaigns.console.new.actions import create_from_upload, give_up, spec_of
from drumbeat.campaigns.console.new.choices import CHOICES_FILE, read_choices, write_choices
from drumbeat.campaigns.console.new.create_request import request_of
from drumbeat.campaigns.console.new.named import creation_key, upload_of
from drumbeat.campaigns.console.new.sending_choices import (
    DAYS,
    SendingFields,
    Wrong,
    sending_part,
    wrong_of,
)
from drumbeat.campaigns.console.web.access import Caller
from drumbeat.campaigns.console.web.context import Console, caller_of, console_of
from drumbeat.campaigns.console.web.forms import form_of
from drumbeat.campaigns.console.web.local_times import time_zones
from drumbeat.campaigns.console.web.problems import Problem
from drumbeat.campaigns.console.web.rendering import (
    page,
    path_of,
    redirect,
    render,
    texts_for,
)
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.campaigns.console.web.uploads import Upload
from drumbeat.campaigns.progress import ProgressCallback
from drumbeat.engine.process.event_log import get_logger

CHECK_FILE = "plan.json"
WAIT_S = 1.5  # a list of some thousand rows is checked by then, and nobody sees that it takes time

log = get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Check:
    """The result of the last check of these choices: `done`, or what was wrong."""

    done: dict[str, Any] | None = None
    wrong: Wrong | None = None


async def show_sending(request: web.Request) -> web.Response:
    """Show the form. While the list is checked or stored, show the progress; afterwards, the result."""
    reference = request.match_info["reference"]
    job = console_of(request).jobs.find(creation_key(reference))
    if job is not None and job.value:
        return redirect(job.value)
    upload = upload_of(request)
    choices = read_choices(upload)
    for step, key in (("", "phone_column"), ("message", "template")):
        if key not in choices:
            return redirect(path_of("new", reference, *filter(None, (step,))))
    if job is not None and not job.has_ended:
        part = render("job_live.html.j2", texts_for(request), job=job)
        return page(request, "new_sending_wait.html.j2", upload=upload, choices=choices, part=part)
    return await _form(request, upload, _last_check(upload))


async def stream_sending(request: web.Request) -> web.StreamResponse:
    """Send the progress. When the work has ended, the page loads again."""
    texts, reference = texts_for(request), request.match_info["reference"]

    async def read() -> str:
        job = console_of(request).jobs.running(creation_key(reference))
        return render("job_live.html.j2", texts, job=job)

    return await stream_events(request, "view", read)


async def create(request: web.Request) -> web.Response:
    """Check the list, or create a draft. Nothing is sent before somebody starts it."""
    fields: Any = await form_of(request)
    console, upload, caller = console_of(request), upload_of(request), caller_of(request)
    write_choices(upload, **sending_part(fields))
    try:
        spec_of(request_of(read_choices(upload)), upload).checked_guards()
    except Exception as error:
        wrong = wrong_of(error)
        if wrong.problem.code == "unexpected":
            raise
        return await _form(request, upload, Check(wrong=wrong), wrong.problem.status)

    async def work(progress: ProgressCallback) -> str:
        return await _worked(console, caller, upload, progress, dry_run="check" in fields)

    job = console.jobs.begin(creation_key(upload.reference), work)
    await job.wait(WAIT_S)
    return redirect(job.value or path_of("new", upload.reference, "sending"))


async def _worked(
    console: Console, caller: Caller, upload: Upload, progress: ProgressCallback, *, dry_run: bool
) -> str:
    """Check or create, and keep the result beside the file."""
    key, asked = _key(upload), request_of(read_choices(upload), dry_run=dry_run)
    try:
        done = await create_from_upload(console, caller, upload, asked, progress, lists_rejects=False)
    except Exception as error:
        wrong = wrong_of(error)
        if wrong.problem.code == "unexpected":
            log.exception("creation_failed")
        upload.write_json(CHECK_FILE, {"key": key, "problem": asdict(wrong.problem), "field": wrong.field})
        return ""
    if dry_run:
        upload.write_json(CHECK_FILE, {"key": key, "done": done})
        return ""
    await give_up(console, upload)
    return path_of("campaigns", asked.name, "launch")


def _key(upload: Upload) -> str:
    """Return a key of all that a check depends on."""
    chosen = [upload.directory / name for name in (CHOICES_FILE, "corrections.json")]
    content = b"".join(path.read_bytes() for path in chosen if path.exists())
    return hashlib.sha256(content).hexdigest()


def _last_check(upload: Upload) -> Check:
    """Return the last check, or an empty one if a choice changed since."""
    kept = upload.read_json(CHECK_FILE)
    if kept is None or kept["key"] != _key(upload):
        return Check()
    if "problem" in kept:
        return Check(wrong=Wrong(Problem(**kept["problem"]), kept["field"]))
    done = kept["done"]
    if done["plan"] is not None:
        _read_times(done["plan"])
    for earlier in done["same_people"]:
        earlier["since"] = datetime.fromisoformat(earlier["since"])
    return Check(done=done)


def _read_times(plan: dict[str, Any]) -> None:
    for name in ("starts_at", "ends_at", "expires_at"):
        plan[name] = None if plan[name] is None else datetime.fromisoformat(plan[name])


async def _form(request: web.Request, upload: Upload, check: Check, status: int = 200) -> web.Response:
    choices = read_choices(upload)
    numbers = await list_numbers(console_of(request).pool)
    return page(
        request,
        "new_sending.html.j2",
        status,
        upload=upload,
        choices=choices,
        fields=SendingFields(choices),
        suggested=PurePath(upload.name).name.partition(".")[0],
        numbers=numbers,
        number_names={each.phone_number_id: each.verified_name or each.phone_number_id for each in numbers},
        days=DAYS,
        zones=time_zones(),
        check=check,
    )
