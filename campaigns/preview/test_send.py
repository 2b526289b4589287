"""A test of a campaign's message, sent to oneself with the values of a real recipient.

Each phone gets a campaign of its own, as `message send` makes one: so its message is claimed, paced and
recorded, and a suppressed phone is skipped. The campaign that is tested does not change.
"""

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from drumbeat.campaigns.life.control import start
from drumbeat.campaigns.options.param_texts import is_link
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.template_options import options_of_media
from drumbeat.campaigns.phones.normaliser import read_phone
from drumbeat.campaigns.planning.create import create_campaign
from drumbeat.campaigns.preview.recipient import ChosenRecipient
from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.template.placeholder import MEDIA
from drumbeat.engine.errors import UsageError
from drumbeat.engine.process.disk_space import Disk
from drumbeat.engine.sending.header_file_uploads import OpenUploads, no_uploads
from drumbeat.engine.store.database import Pool, close, connect

PHONES_MAX = 20  # a test is read by people; more phones are an audience


def own_phones(texts: Sequence[str], region: str | None) -> list[int]:
    """Return each phone once, in the order given. Raise UsageError for a wrong one, or too many."""
    phones = list(dict.fromkeys(read_phone(text, region) for text in texts))
    if len(phones) > PHONES_MAX:
        raise UsageError(
            f"a test goes to {PHONES_MAX} phones at most, not {len(phones)}",
            remedy="create a campaign for more",
        )
    return phones


async def plan_tests(
    url: str,
    chosen: ChosenRecipient,
    phones: Sequence[int],
    *,
    disk: Disk | None = None,
    open_uploads: OpenUploads = no_uploads,
) -> list[str]:
    """Store a campaign for each phone, and return their names. Raise the errors of `create_campaign`."""
    names = await _new_names(url, chosen.campaign, len(phones))
    for name, phone in zip(names, phones, strict=True):
        with tempfile.TemporaryDirectory(prefix="drumbeat-test-") as directory:
            audience = Path(directory) / "recipient.csv"
            await asyncio.to_thread(audience.write_text, f"phone\n+{phone}\n", "utf-8")
            spec = replace(_spec(chosen, name), read_from=audience, region=None, is_urgent=True)
            await create_campaign(url, spec, disk=disk, open_uploads=open_uploads)
    return names


@dataclass(frozen=True, slots=True)
class ReleasedTests:
    """The tests that were sent. `campaigns` has their names, one for each phone. `nobody_sends` says that
    they wait for a worker.
    """

    campaigns: list[str]
    nobody_sends: bool


async def release_tests(
    pool: Pool,
    url: str,
    chosen: ChosenRecipient,
    phones: Sequence[str],
    region: str | None = None,
    *,
    disk: Disk | None = None,
    open_uploads: OpenUploads = no_uploads,
    actor: str,
) -> ReleasedTests:
    """Store a campaign for each phone and hand it to the workers. Raise the errors of `own_phones` and
    `plan_tests`.

    `region` is the country of national numbers; None means the one by which the campaign's list was read.
    """
    own = own_phones(phones, region or chosen.options.get("region"))
    names = await plan_tests(url, chosen, own, disk=disk, open_uploads=open_uploads)
    async with pool.acquire() as connection:
        changes = [await start(connection, name, actor=actor) for name in names]
    return ReleasedTests(names, any(change.nobody_sends for change in changes))


async def tests_of(pool: Pool, campaign: str) -> list[dict[str, Any]]:
    """Return the latest tests of a campaign: their names, and how far the message came."""
    rows = await pool.fetch(statements("preview")["tests_of"], _prefix(campaign))
    return [dict(row) for row in rows]


def _prefix(campaign: str) -> str:
    return f"{campaign}/test-"


async def _new_names(url: str, campaign: str, count: int) -> list[str]:
    """Return the next names after those that exist, such as `spring/test-1`."""
    prefix = _prefix(campaign)
    connection = await connect(url)
    try:
        rows = await connection.fetch(statements("preview")["names_with_prefix"], prefix)
    finally:
        await close(connection)
    suffixes = [row["name"].removeprefix(prefix) for row in rows]
    last = max((int(suffix) for suffix in suffixes if suffix.isdecimal()), default=0)
    return [f"{prefix}{last + position}" for position in range(1, count + 1)]


def _spec(chosen: ChosenRecipient, name: str) -> CampaignSpec:
    """Return a campaign with the message of the recipient. It sends at once: a test does not wait for the
    campaign's start or its window.
    """
    return CampaignSpec(
        name=name,
        template=chosen.template.name,
        language=chosen.template.language,
        read_from=Path(),
        number=list(chosen.phone_number_ids[:1]),
        param=_params(chosen),
        test_of=chosen.campaign,
        **_header(chosen),
    )


def _params(chosen: ChosenRecipient) -> list[str]:
    """Return each value by the name of its placeholder. Optional buttons have no place in the order."""
    filled = zip(chosen.template.compiled().placeholders, chosen.values, strict=True)
    texts = {each.word: value for each, value in filled if each.component != MEDIA}
    return [f"{word}:={value}" for word, value in texts.items()]


def _header(chosen: ChosenRecipient) -> dict[str, Any]:
    """Return the options of the header's media: the recipient's own link or file, or those of everybody."""
    media = chosen.template.header_media
    if not chosen.template.compiled().has_variable_media:
        return options_of_media(media)
    shown = str(chosen.header_file or chosen.values[0])
    named = {"header_link": shown} if is_link(shown) else {"header_file": Path(shown)}
    return {**named, "header_filename": None if media is None else media.filename}
