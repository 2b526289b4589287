"""The step that opens all that identifies a campaign, and locks its names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass

from drumbeat.campaigns.audience.check.corrections import sha256_of as corrected_rows
from drumbeat.campaigns.audience.open.opening import OpenAudience
from drumbeat.campaigns.options.identity import identify
from drumbeat.campaigns.options.param_texts import is_link
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.planning.asked import Asked
from drumbeat.campaigns.planning.opened.exclusion import Exclusion, open_exclusions
from drumbeat.campaigns.planning.opened.source import open_source
from drumbeat.campaigns.planning.removal import lock_names
from drumbeat.campaigns.progress import STATEMENT_TIMEOUT_S, ProgressCallback
from drumbeat.engine.sending.header_file_uploads import sha256_of
from drumbeat.engine.store.database import Connection, close, connect


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """The session of a plan. It holds the locks and the staged rows. `url` leads to the same database."""

    url: str
    connection: Connection
    progress: ProgressCallback


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The campaign that is asked for, with its audience and its exclusions open."""

    session: Session
    asked: Asked
    source: OpenAudience
    exclusions: Sequence[Exclusion]


@asynccontextmanager
async def open_campaign(url: str, spec: CampaignSpec, progress: ProgressCallback) -> AsyncIterator[Opened]:
    """Open everything, and close it at the end.

    Raise UsageError for a wrong option, ConfigurationError for a file that cannot be read, NotReady if the
    audience is not there yet, and TryLater if another process creates a campaign of this name.
    """
    guards = spec.checked_guards()
    with ExitStack() as files:
        source = await open_source(url, spec, guards.readiness.unchanged_for_s, files)
        audience = await asyncio.to_thread(source.sha256)
        header = await asyncio.to_thread(header_content, spec)
        connection = await connect(url, command_timeout_s=STATEMENT_TIMEOUT_S)
        try:
            exclusions = await open_exclusions(connection, spec.exclude or (), files)
            excluded = [exclusion.content for exclusion in exclusions]
            corrected = corrected_rows(spec.corrections)
            identity = identify(spec, audience, excluded, header, corrected)
            await lock_names(connection, spec.name, spec.external_id)
            yield Opened(
                session=Session(url=url, connection=connection, progress=progress),
                asked=Asked(spec=spec, guards=guards, identity=identity),
                source=source,
                exclusions=exclusions,
            )
        finally:
            await close(connection)


def header_content(spec: CampaignSpec) -> str | None:
    """Return the identity of the one link or file of all headers: the link, or the hash of the file; None if
    there is neither.
    """
    if spec.header is None or spec.header_file is None:
        return None
    named = spec.header[1:]
    return named if is_link(named) else sha256_of(spec.media_directory / named)
