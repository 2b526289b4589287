"""The template of a campaign: read from the store, and checked against the options."""

from collections.abc import Sequence
from dataclasses import replace
from difflib import get_close_matches

from drumbeat.campaigns.sql import statements
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.core.template.placeholder import Placeholder
from drumbeat.engine.core.template.placeholder_changes import placeholder_differences
from drumbeat.engine.errors import ConfigurationError, UsageError
from drumbeat.engine.store.database import Connection

SENDABLE_STATUS = "APPROVED"
NAMES_SHOWN_MAX = 8


# A template whose header takes media compiles only with some. The placeholders do not depend on which.
_ANY_MEDIA = Media(media_id="0")


def placeholders_of(template: CampaignTemplate) -> tuple[Placeholder, ...]:
    """Return the placeholders in the order of `param`. Raise UnusableTemplate if it cannot be filled."""
    media = _ANY_MEDIA if template.header_kind else None
    return tuple(replace(template, header_media=media).compiled().placeholders)


async def load_template(
    connection: Connection, name: str, language: str, header_media: Media | None, *, database: str
) -> CampaignTemplate:
    """Return the stored template with this name and language, if it is approved.

    Raise a ConfigurationError that names the similar names, the languages or the status that were found
    instead.
    """
    rows = await connection.fetch(statements("plan")["templates_of_name"], name)
    found = next((row for row in rows if row["language"] == language), None)
    if found is None:
        languages = [row["language"] for row in rows]
        raise await _unknown(connection, name, language, languages, database)
    if found["status"] != SENDABLE_STATUS:
        raise ConfigurationError(
            f"the template {name} ({language}) is {found['status']}; only {SENDABLE_STATUS} ones can be sent",
            where=database,
            remedy="run `drumbeat templates sync` once it is approved",
        )
    return CampaignTemplate(name, language, found["definition"], header_media)


async def other_languages(connection: Connection, template: CampaignTemplate) -> list[CampaignTemplate]:
    """Return the template in its other languages that are approved."""
    rows = await connection.fetch(statements("plan")["templates_of_name"], template.name)
    return [
        replace(template, language=row["language"], definition=row["definition"])
        for row in rows
        if row["language"] != template.language and row["status"] == SENDABLE_STATUS
    ]


async def _unknown(
    connection: Connection, name: str, language: str, languages: list[str], database: str
) -> ConfigurationError:
    sync = "if it is new, run `drumbeat templates sync`"
    if languages:
        return ConfigurationError(
            f'the template {name} does not exist in "{language}", only in {", ".join(languages)}',
            where=database,
            remedy=sync,
        )
    names = [row["name"] for row in await connection.fetch(statements("plan")["template_names"])]
    near = get_close_matches(name, names, NAMES_SHOWN_MAX) or names[:NAMES_SHOWN_MAX]
    hint = f"; stored are {', '.join(near)}" if near else "; no template is stored yet"
    return ConfigurationError(f'there is no template "{name}"{hint}', where=database, remedy=sync)


def check_header(template: CampaignTemplate) -> None:
    """Raise UsageError if media are missing for the header, or given for one that takes none."""
    kind, media = template.header_kind, template.header_media
    what = f"the template {template.name} ({template.language})"
    if kind and media is None:
        raise UsageError(
            f"{what} needs one {kind} in its header",
            remedy="name it with {header_column}, {header_file}, {header_link} or {header_media_id}",
            values={},
        )
    if media is not None and not kind:
        raise UsageError(
            f"{what} has no media in its header",
            remedy="remove the options that begin with {header}",
            values={},
        )
    if media is not None and media.filename and kind != "document":
        raise UsageError(
            f"{what} has a header with {kind}, which shows no file name",
            remedy="remove {header_filename}",
            key="header_filename",
            values={},
        )


def check_same_placeholders(templates: Sequence[CampaignTemplate]) -> None:
    """Raise UsageError, with every difference, unless all templates have the placeholders of the first."""
    first, *others = templates
    wanted = first.compiled().placeholders
    parts = [
        f"{other.name} ({other.language}) has {', '.join(differences)}"
        for other in others
        if (differences := placeholder_differences(wanted, other.compiled().placeholders))
    ]
    if parts:
        raise UsageError(
            f"the templates of a campaign need the same placeholders as {first.name} ({first.language}):"
            f" {'; '.join(parts)}",
            remedy="correct them at the service, then run `drumbeat templates sync`",
        )
