"""The files that a browser needs: loaded once, and named by their content, so that browsers may keep them."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files

from aiohttp import web

TYPES = {
    "console.css": "text/css",
    "console.js": "text/javascript",
    "upload.js": "text/javascript",
    "icon.svg": "image/svg+xml",
}


@cache
def content(name: str) -> bytes:
    return (files("drumbeat.campaigns.console") / "static" / name).read_bytes()


@cache
def static_url(name: str) -> str:
    version = hashlib.sha256(content(name)).hexdigest()[:12]
    return f"/static/{version}/{name}"


async def serve_static(request: web.Request) -> web.Response:
    """Send a file of any version. A page from before an upgrade may still ask for it."""
    name = request.match_info["file"]
    if name not in TYPES:
        raise web.HTTPNotFound
    return web.Response(
        body=content(name),
        content_type=TYPES[name],
        charset="utf-8",
        headers={"Cache-Control": "public, max-age=31536000, immutable"},
    )
