"""A look at the link of a header before a campaign is started.

Law: a person may name any link, and this machine stands in a private network. So only public addresses are
asked, whatever the name leads to, no redirect is followed, and nothing of the answer's body is shown.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.header_link import LinkAnswer, header_kind, link_ends_at, link_problem
from drumbeat.engine.system_error import system_error_text

if TYPE_CHECKING:
    import aiohttp

# All links are asked at once. A run owns its numbers meanwhile, for 5 s at a time, and its templates took up
# to 3 s.
ANSWER_S_MAX = 1.5


class SeenLink(NamedTuple):
    """The sight of a link, in words. `link` is without its parameters, which may be a signature."""

    link: str
    words: str
    is_problem: bool


async def look_at_links(templates: Sequence[CampaignTemplate], starts_at: datetime) -> list[SeenLink]:
    """Return what a person should know of the links that the headers of these templates show."""
    kinds = {
        template.header_media.link: (template.name, header_kind(template.definition))
        for template in templates
        if template.header_media is not None and template.header_media.link is not None
    }
    found = await asyncio.gather(*(_look(link, *of, starts_at) for link, of in kinds.items()))
    return [seen for seen in found if seen is not None]


async def _look(link: str, template: str, kind: str, starts_at: datetime) -> SeenLink | None:
    named, shown = f"the link of the header of template {template}", link.partition("?")[0]
    ends_at = link_ends_at(link)
    if ends_at is not None and ends_at <= starts_at:
        return SeenLink(shown, f"{named} ends at {ends_at:%Y-%m-%d %H:%MZ}, before the campaign", True)
    try:
        problem = link_problem(kind, await ask_link(link))
    except NotAsked as reason:
        return SeenLink(shown, f"{named} was not looked at: {reason}", False)
    if problem is not None:
        return SeenLink(shown, f"{named} cannot be shown: {problem}", True)
    if ends_at is not None:
        until = f"{ends_at:%Y-%m-%d %H:%MZ}"
        return SeenLink(shown, f"{named} ends at {until}: nobody gets a message with it later", False)
    return None


class NotAsked(Exception):
    """A link that was not asked, or that did not answer here. The service may still reach it."""


async def ask_link(url: str, *, only_public: bool = True) -> LinkAnswer:
    """Return what the link's server answers. Raise NotAsked if it cannot be asked from here."""
    import aiohttp  # takes a third of a command's start

    host = urlsplit(url).hostname or ""
    if only_public and _is_private(host):
        raise NotAsked("its address is not public")
    resolver = _public_resolver() if only_public else None
    timeout = aiohttp.ClientTimeout(total=ANSWER_S_MAX)
    try:
        connector = aiohttp.TCPConnector(resolver=resolver)
        async with (
            aiohttp.ClientSession(connector=connector, timeout=timeout) as session,
            session.get(url, allow_redirects=False, headers={"Range": "bytes=0-0"}) as response,
        ):
            return LinkAnswer(
                _plain_status(response), response.headers.get("Content-Type", ""), _size(response)
            )
    except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as error:
        raise NotAsked(f"it does not answer here: {system_error_text(error)}") from error


def _plain_status(response: aiohttp.ClientResponse) -> int:
    return 200 if response.status in (206, 416) else response.status


def _size(response: aiohttp.ClientResponse) -> int | None:
    """Return the size of the whole file: of a part, the answer says it after a slash."""
    whole = response.headers.get("Content-Range", "").rpartition("/")[2]
    if whole.isascii() and whole.isdigit():
        return int(whole)
    return response.content_length if response.status == 200 else None


def _is_private(host: str) -> bool:
    try:
        return not ipaddress.ip_address(host).is_global
    except ValueError:
        return False  # a name, which the resolver looks at


def _public_resolver() -> aiohttp.abc.AbstractResolver:
    from aiohttp.abc import AbstractResolver

    class PublicResolver(AbstractResolver):
        """A resolver that gives public addresses alone. The connection goes to exactly these."""

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> list[Any]:
            loop = asyncio.get_running_loop()
            found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM, family=family)
            hosts = [
                {"hostname": host, "host": address[4][0], "port": port, "family": address[0], "proto": 0,
                 "flags": socket.AI_NUMERICHOST}
                for address in found
                if not _is_private(str(address[4][0]))
            ]  # fmt: skip
            if not hosts:
                raise OSError(None, "its address is not public")
            return hosts

        async def close(self) -> None:
            pass

    return PublicResolver()
