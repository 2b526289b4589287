"""The table of routes: from a method and a pattern to a handler."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from drumbeat.emulator.wire.request_reply import Reply, Request, StreamReply

Handler: TypeAlias = Callable[[Request], Reply | StreamReply | Awaitable[Reply]]


@dataclass(frozen=True, slots=True)
class Route:
    """A route. `pattern` is a path whose `{name}` segments become the request's variables."""

    method: str
    pattern: str
    handler: Handler


class Router:
    """A finder of handlers. Routes are tried in the order given."""

    def __init__(self, routes: list[Route]) -> None:
        self._routes = [(_compile(route.pattern), route) for route in routes]

    def find(self, request: Request) -> tuple[Handler, Request] | None:
        """Return the handler and the request with its variables, or None if no route has that method and
        path.
        """
        for pattern, route in self._routes:
            if route.method == request.method and (match := pattern.fullmatch(request.path)):
                return route.handler, replace(request, variables=match.groupdict())
        return None

    def methods(self, path: str) -> list[str]:
        """Return the methods that a path answers to; empty for an unknown path."""
        return sorted({route.method for pattern, route in self._routes if pattern.fullmatch(path)})


def _compile(pattern: str) -> re.Pattern[str]:
    parts = re.split(r"\{(\w+)\}", pattern)
    texts = [f"(?P<{part}>[^/]+)" if odd % 2 else re.escape(part) for odd, part in enumerate(parts)]
    return re.compile("".join(texts))
