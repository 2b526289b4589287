"""The snapshots, the OpenAPI document, and the web page."""

import os
from importlib.resources import files
from pathlib import Path
from typing import Any

import orjson

from drumbeat.emulator.document.build import build_document
from drumbeat.emulator.errors import Refused
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.overview import overview
from drumbeat.emulator.snapshot import dump, restore
from drumbeat.emulator.wire.request_reply import Reply, Request, json_reply, parse_object

_PAGE = files("drumbeat.emulator") / "page"
_PAGE_TYPES = {"index.html": "text/html; charset=UTF-8", "page.js": "text/javascript", "page.css": "text/css"}


class StateControl:
    """The endpoints `/_emulator/snapshot`, `/_emulator/restore`, `/_emulator/overview`, `/openapi.json` and
    `/`.
    """

    def __init__(self, service: MessagingService) -> None:
        self._service = service

    def show(self, _request: Request) -> Reply:
        """Return the whole state."""
        return json_reply(dump(self._service))

    def save(self, request: Request) -> Reply:
        """Write the whole state to a file of this machine: `{"path"}`."""
        try:
            with open(_path(parse_object(request.body)), "wb", opener=_private) as file:
                file.write(orjson.dumps(dump(self._service)))
        except OSError as error:
            raise Refused(100, f"the file cannot be written: {error.strerror}") from None
        return json_reply({"success": True})

    def restore(self, request: Request) -> Reply:
        """Restore a state, or the state in a file: `{"path"}`."""
        content = parse_object(request.body)
        if "path" in content:
            try:
                content = parse_object(_path(content).read_bytes())
            except OSError as error:
                raise Refused(100, f"the file cannot be read: {error.strerror}") from None
        restore(self._service, content)
        return json_reply({"success": True})

    def overview(self, _request: Request) -> Reply:
        """Return the values that the page shows."""
        return json_reply(overview(self._service))

    def document(self, _request: Request) -> Reply:
        """Return the document, in OpenAPI 3.1."""
        return json_reply(build_document(self._service.config, self._service.base_url))

    def page(self, request: Request) -> Reply:
        """Return the page, or a file that it loads."""
        name = request.variables.get("name", "index.html")
        if name not in _PAGE_TYPES:
            raise Refused(100, f"unknown path components: /page/{name}", 404)
        headers = (("Cache-Control", "no-store"), ("X-Content-Type-Options", "nosniff"))
        return Reply(200, (_PAGE / name).read_bytes(), _PAGE_TYPES[name], headers)


def _private(path: str, flags: int) -> int:
    """Open a file that only its owner can read. No link is followed."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o600)


def _path(content: dict[str, Any]) -> Path:
    path = content.get("path")
    if not isinstance(path, str) or not path or "\0" in path:
        raise Refused(100, "path is the name of a file")
    return Path(path)
