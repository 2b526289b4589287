"""The rows of the route table: each has what may be asked of one thing, by people and by programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from drumbeat.campaigns.console.web.context import Handler, Route
from drumbeat.campaigns.console.web.operations import PREFIX, Operation
from drumbeat.campaigns.console.web.request_limits import Allowance
from drumbeat.campaigns.console.web.roles import Role


@dataclass(frozen=True, slots=True)
class Row:
    """A row. `role`: who may; None stands for everybody. `pages`: handlers by method and path, such as
    `GET /numbers`. `operation`: the same in the interface. `allowance`: how often a caller may ask, of each
    address.
    """

    role: Role | None
    pages: Mapping[str, Handler] = field(default_factory=dict)
    operation: Operation | None = None
    allowance: Allowance | None = None

    @property
    def routes(self) -> Iterator[Route]:
        """Yield the addresses of the row."""
        if (operation := self.operation) is not None:
            yield self._route(operation.method, PREFIX + operation.path, operation.handle)
        for address, handler in self.pages.items():
            method, path = address.split()
            yield self._route(method, path, handler)

    def _route(self, method: str, path: str, handler: Handler) -> Route:
        return Route(method, path, self.role, handler, self.allowance)
