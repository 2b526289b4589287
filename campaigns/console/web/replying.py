"""The reading of requests of the interface, and the writing of replies."""

from __future__ import annotations

import hashlib
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar, get_origin

import orjson
from aiohttp import web
from pydantic import BaseModel

from drumbeat.campaigns.console.web.context import caller_of, console_of, own_path
from drumbeat.campaigns.console.web.forms import require_text
from drumbeat.campaigns.console.web.jobs import Job, Work
from drumbeat.campaigns.console.web.problems import Refused
from drumbeat.campaigns.console.web.repeats import Repeats
from drumbeat.campaigns.console.web.shapes import Job as JobReply
from drumbeat.campaigns.progress import ProgressCallback

Model = TypeVar("Model", bound=BaseModel)

KEY_HEADER = "Idempotency-Key"
KEY_CHARACTERS_MAX = 200
JOBS_PATH = "/api/v1/jobs"
NUL = rb"\u0000"  # as JSON writes it
WAIT_S = 10.0  # most work ends by then; proxies wait for a minute


def reply(value: object, status: int = 200) -> web.Response:
    """Return a reply: the JSON of a dataclass or of a JSON value."""
    return web.Response(status=status, body=orjson.dumps(value), content_type="application/json")


def query_of(request: web.Request, model: type[Model]) -> Model:
    """Return the parameters of the address. ValidationError names the wrong ones. A parameter with several
    values is repeated. An empty parameter counts as not given, because a form sends each of its fields.
    """
    listed = {name for name, field in model.model_fields.items() if get_origin(field.annotation) is list}
    values = {name: [text for text in request.query.getall(name) if text] for name in request.query}
    given = {name: found if name in listed else found[-1] for name, found in values.items() if found}
    return model.model_validate(given)


async def body_of(request: web.Request, model: type[Model]) -> Model:
    """Return the JSON body. ValidationError names the wrong members."""
    return value_of(await request.read() or b"null", model)


def value_of(content: bytes | str, model: type[Model]) -> Model:
    """Return the value of a JSON text. ValidationError names the wrong members. Refused if a text in it
    cannot be stored.
    """
    value = model.model_validate_json(content)
    given = content.encode() if isinstance(content, str) else content
    if NUL in given:  # also what only looks like one, such as an escaped backslash before it
        _require_texts(orjson.loads(given))
    return value


def _require_texts(value: object) -> None:
    if isinstance(value, str):
        require_text(value)
    elif isinstance(value, dict):
        _require_texts([*value, *value.values()])
    elif isinstance(value, list):
        for each in value:
            _require_texts(each)


async def once(
    request: web.Request,
    content: bytes,
    work: Callable[[], Awaitable[dict[str, Any]]],
    *,
    required: bool = False,
) -> dict[str, Any]:
    """Do `work`, which creates something, once for each Idempotency-Key.

    `content`: the body of the request. `required`: the key is required, because without one a repeated
    request would do the work again.
    """
    key = request.headers.get(KEY_HEADER, "")
    if len(key) > KEY_CHARACTERS_MAX or (required and not key):
        raise Refused(400, "key_missing")
    if not key:
        return await work()
    repeats = Repeats(console_of(request).pool, caller_of(request).name, key)
    asked = hashlib.sha256(f"{request.method} {own_path(request)}\n".encode() + content).digest()
    return await repeats.once(asked, work)


def reference_of(request: web.Request, content: bytes) -> str:
    """Return the name of a request's job. While a job runs, the same request finds it by this name."""
    key = request.headers.get(KEY_HEADER, "")
    path = f"{own_path(request)}?{request.query_string}"
    asked = f"{caller_of(request).name}\n{request.method} {path}\n{key}\n".encode()
    return hashlib.sha256(asked + content).hexdigest()[:32]


async def worked(
    request: web.Request,
    content: bytes,
    work: Work,
    *,
    takes_key: bool = False,
    costly: bool = True,
    release: Callable[[], None] = lambda: None,
) -> web.Response:
    """Return the reply of the work if it ends soon, else 202 with the address of its job, which goes on.

    `content`: the body of the request. `takes_key`: the work is done once for each Idempotency-Key.
    `release`: called when nothing uses the request's files any more.
    """

    async def whole(progress: ProgressCallback) -> dict[str, Any]:
        try:
            return await (once(request, content, lambda: work(progress)) if takes_key else work(progress))
        finally:
            release()

    jobs, reference = console_of(request).jobs, reference_of(request, content)
    if jobs.running(job_key(reference)) is not None:
        release()
    job = jobs.begin(job_key(reference), whole, costly=costly)
    if not await job.wait(WAIT_S):
        going = reply(job_json(job), 202)
        going.headers["Location"] = f"{JOBS_PATH}/{reference}"
        return going
    return reply(job.value) if job.problem is None else job.problem.response()


def job_key(reference: str) -> str:
    return f"interface/{reference}"


def job_json(job: Job) -> JobReply:
    """Return a job as JSON."""
    progress = job.progress
    return {
        "ended": job.has_ended,
        "stage": None if progress is None else progress.stage,
        "rows": 0 if progress is None else progress.rows,
        "reply": job.value,
        "problem": None if job.problem is None else job.problem.as_json(),
    }
