"""The options that say which template is sent, or which of several, and the media of its header."""

from __future__ import annotations

from typing import Any

from drumbeat.campaigns.options.table import CampaignOptions
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.errors import UsageError

_MEDIA = "{header_column}, {header_file}, {header_link} and {header_media_id}"


def check_templates(options: CampaignOptions) -> None:
    """Raise UsageError unless there is one template, or variants."""
    if (options.template is None) == (not options.variant):
        raise UsageError(
            "a campaign needs one template or several variants",
            remedy="give {template} or {variant}",
            values={},
        )
    if options.experiment is not None and not options.variant:
        raise UsageError("{experiment} needs {variant}", values={})


def header_of(options: CampaignOptions) -> str | None:
    """Return the column of the header's media, or `=FILE`; None if all messages show the same media.

    Raise UsageError for more than one kind of media, or a file name without media.
    """
    kinds = (options.header_column, options.header_file, options.header_link, options.header_media_id)
    given = [kind for kind in kinds if kind]
    if len(given) > 1:
        raise UsageError("the header takes one media file", remedy=f"give one of {_MEDIA}", values={})
    if options.header_filename and not given:
        raise UsageError(
            "{header_filename} needs a media file",
            remedy=f"give {_MEDIA.replace(' and ', ' or ')} as well",
            values={},
        )
    if options.header_file is not None:
        return f"={options.header_file}"
    return options.header_column or None


def media_of(options: CampaignOptions) -> Media | None:
    """Return the media of the header; None if the options name none."""
    if header_of(options) is not None:
        return Media(filename=options.header_filename, is_variable=True)
    if not (options.header_link or options.header_media_id):
        return None
    return Media(options.header_media_id, options.header_link, options.header_filename)


def options_of_media(media: Media | None) -> dict[str, Any]:
    """Return the options, by key, that name the media which all messages show."""
    if media is None or media.is_variable:
        return {}
    return {
        "header_media_id": media.media_id,
        "header_link": media.link,
        "header_filename": media.filename,
    }
