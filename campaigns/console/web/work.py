"""The pages of work that may take longer than a request. A page shows the progress, then the result or the
form.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from drumbeat.campaigns.console.web.access import CSRF_FIELD
from drumbeat.campaigns.console.web.context import Console, console_of
from drumbeat.campaigns.console.web.forms import form_of
from drumbeat.campaigns.console.web.jobs import Work
from drumbeat.campaigns.console.web.problems import problem_of
from drumbeat.campaigns.console.web.rendering import page, path_of, redirect, render, texts_for
from drumbeat.campaigns.console.web.replying import job_json, job_key, reference_of
from drumbeat.campaigns.console.web.shapes import Job as JobReply
from drumbeat.campaigns.console.web.streams import stream_events
from drumbeat.engine.errors import NotFound

WAIT_S = 1.5  # most work is done by then, and nobody sees that it takes time


async def attempt(
    request: web.Request, template: str, work: Callable[[], Awaitable[str]], **values: Any
) -> web.Response:
    """Do the work and go to the address that it returns. If it is refused, show the form again with the
    reason.
    """
    try:
        return redirect(await work())
    except Exception as error:
        problem = problem_of(error)
        if problem.code == "unexpected":
            raise
        return page(request, template, problem=problem, **values)


async def attempt_long(
    request: web.Request, template: str, work: Work, *, costly: bool = True, **values: Any
) -> web.Response:
    """Do the work and go to the address that it returns. If it takes a while, go to its page. `template`,
    `values`: the form, which is shown again with the reason if the work is refused.
    """
    posted = await form_of(request)
    fields = sorted((name, str(value)) for name, value in posted.items() if name != CSRF_FIELD)
    reference = reference_of(request, repr(fields).encode())
    job = console_of(request).jobs.begin(_key(reference), work, costly=costly, form=(template, values))
    if not await job.wait(WAIT_S):
        return redirect(path_of("work", reference))
    if job.problem is not None:
        return page(request, template, problem=job.problem, **values)
    return redirect(job.value)


async def show_job(console: Console, name: str) -> JobReply:
    """Return the progress of a job that was answered with 202."""
    job = console.jobs.find(job_key(name))
    if job is None:
        raise NotFound("this work is not known any more", remedy="the audit shows what it did")
    return job_json(job)


async def show_work(request: web.Request) -> web.Response:
    reference = request.match_info["reference"]
    job = console_of(request).jobs.find(_key(reference))
    if job is None or job.form is None:
        raise NotFound("this work is not known any more", remedy="the audit shows what it did")
    if not job.has_ended:
        part = render("job_live.html.j2", texts_for(request), job=job)
        return page(request, "work.html.j2", part=part, stream=f"/live{path_of('work', reference)}")
    if job.problem is None:
        return redirect(job.value)
    template, values = job.form
    return page(request, template, 200, problem=job.problem, **values)


async def stream_work(request: web.Request) -> web.StreamResponse:
    """Send the progress. When the work has ended, the page loads again."""
    texts, key = texts_for(request), _key(request.match_info["reference"])

    async def read() -> str:
        return render("job_live.html.j2", texts, job=console_of(request).jobs.running(key))

    return await stream_events(request, "view", read)


def _key(reference: str) -> str:
    return f"page/{reference}"
