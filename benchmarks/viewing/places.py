"""The addresses of the console that show something, made from its routes, so that no new view is
forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from drumbeat.benchmarks.harness.processes import BenchmarkFailed
from drumbeat.campaigns.console.routes import routes
from drumbeat.campaigns.console.web.operations import PREFIX

_PARAMETER = "{"
# Addresses that only lead to a change of one upload, user, token or person, or show the progress of work. No
# campaign makes them slower.
_NO_VIEWS = (
    "/static/",
    "/new/{reference}/rows/download",
    "/suppression/import/",
    "/live/suppression/import/",
    "/erased/",
    "/sign-in/provider",  # of a console that has one
    "/password",  # of a signed-in person; the benchmark comes with a token
    "/work/",
    "/live/work/",
    f"{PREFIX}/jobs/",
    f"{PREFIX}/subscriptions/{{name}}",
    f"{PREFIX}/events",
    "/users/{name}",
    "/tokens/{name}",
)
# The costly queries that a view is also asked with. The campaign's middle is `{row}` and `{after}`.
QUERIES = {
    "/campaigns": ("state=running", "tests=true"),
    "/campaigns/{name}/recipients": (
        "state=failed",
        "state=unknown",
        "state=deferred",
        "code=131026",
        "code=131047",
        "code=131000",  # nobody has it
        "after={after}",
        "state=pending&after={after}",
    ),
    "/campaigns/{name}/message": ("row={row}", "phone=%2B{phone}"),
    "/campaigns/{name}/preview": ("row={row}", "phone=%2B{phone}"),
}


@dataclass(frozen=True, slots=True)
class View:
    """An address to ask, and the route that it belongs to."""

    route: str
    address: str

    @property
    def of_campaign(self) -> bool:
        return "/campaigns/{name}" in self.route


def views(examples: Mapping[str, str]) -> list[View]:
    """Return all views. `examples`: the value after a word of a path (`campaigns`: a name), and `row`,
    `after`, `phone` of queries. BenchmarkFailed if a route needs one that is not there.
    """
    found = (
        route.path for route in routes() if route.method == "GET" and not route.path.startswith(_NO_VIEWS)
    )
    paths = sorted(dict.fromkeys(found), key=_is_file)
    return [view for path in paths for view in _of_route(path, examples)]


def _is_file(path: str) -> bool:
    """Return whether the address is a file. Files come last: the console works on the next part of one that
    nobody reads to its end.
    """
    return path.endswith("/export")


def _of_route(path: str, examples: Mapping[str, str]) -> Iterator[View]:
    words = path.split("/")
    for at, word in enumerate(words):
        if word.startswith(_PARAMETER):
            words[at] = _example(path, words[at - 1], examples)
    address = "/".join(words)
    yield View(path, address)
    for query in QUERIES.get(path.removeprefix(PREFIX), ()):
        yield View(f"{path}?{query}", f"{address}?{query.format(**examples)}")


def _example(path: str, before: str, examples: Mapping[str, str]) -> str:
    if before not in examples:
        raise BenchmarkFailed(f"the view {path} is new: give an example of what stands after /{before}/")
    return examples[before]
