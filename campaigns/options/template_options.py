"""The options that say what fills a template: its placeholders, the media of its header, and which of several
templates a recipient gets.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.options.variants import Variant
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.errors import UsageError

Template = Annotated[
    str | None, typer.Option(help="Name of an approved template. Needed unless --variant is given.")
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        help="Column for a placeholder; repeat for each, in order. =text is a fixed text. Or NAME:COLUMN and"
        " NAME:=text, in any order: if the text before the first colon names a placeholder, the rest is the"
        " column. `templates show` lists the names.",
        metavar="COLUMN",
    ),
]
HeaderColumn = Annotated[
    str | None,
    typer.Option(
        help="Header media of each row: column of HTTPS URLs, or of files in the audience's directory.",
        metavar="COLUMN",
    ),
]
HeaderFile = Annotated[
    Path | None, typer.Option(help="Header media: a file, uploaded for you.", metavar="FILE")
]
HeaderLink = Annotated[str | None, typer.Option(help="Header media: an HTTPS URL.")]
HeaderMediaId = Annotated[str | None, typer.Option(help="Header media: the id of an uploaded file.")]
HeaderFilename = Annotated[
    str | None,
    typer.Option(help="File name that is shown for a header document. Default: that of the file."),
]
LanguageColumn = Annotated[
    str | None,
    typer.Option(
        help="Column with the language of each recipient, such as pt-br. A recipient whose cell names"
        " no language of the template gets --language.",
        metavar="COLUMN",
    ),
]
StrictLanguage = Annotated[
    bool,
    typer.Option("--strict-language", help="Refuse the file if a row names no language of the template."),
]
Variants = Annotated[
    list[str] | None,
    typer.Option(
        "--variant",
        help="A template to compare with others, and its share of the people (default 1); repeat for each."
        " A person gets one of them, always the same.",
        metavar="NAME=TEMPLATE[:WEIGHT]",
    ),
]
Experiment = Annotated[
    str | None,
    typer.Option(
        help="Key by which people are divided among the variants. Campaigns with the same key divide them"
        " alike. Default: the campaign's name.",
        metavar="KEY",
    ),
]


def first_template(template: str | None, variants: Sequence[Variant], experiment: str | None) -> str:
    """Return the template that is given, or that of the first variant. Raise UsageError for both or none."""
    if (template is None) == (not variants):
        raise UsageError(
            "a campaign needs one template or several variants", remedy="give --template or --variant"
        )
    if experiment is not None and not variants:
        raise UsageError("--experiment needs --variant")
    return template or variants[0].template


@dataclass(frozen=True, slots=True)
class HeaderOptions:
    """The media of a header, as the options say. `header` and `directory` become `header` and
    `header_directory` of `CampaignSpec`.
    """

    media: Media | None
    header: str | None = None
    directory: Path | None = None


def header_of(
    column: str | None, file: Path | None, link: str | None, media_id: str | None, filename: str | None
) -> HeaderOptions:
    """Raise UsageError for more than one kind of media, or a file name without media."""
    given = [each for each in (column, file, link, media_id) if each]
    if len(given) > 1:
        raise UsageError(
            "the header takes one media file",
            remedy="give one of --header-column, --header-file, --header-link and --header-media-id",
        )
    if filename and not given:
        raise UsageError(
            "--header-filename needs a media file",
            remedy="give --header-column, --header-file, --header-link or --header-media-id as well",
        )
    if column:
        return HeaderOptions(Media(filename=filename, is_variable=True), column)
    if file is not None:
        return HeaderOptions(Media(filename=filename, is_variable=True), f"={file}", Path.cwd())
    return HeaderOptions(Media(media_id, link, filename) if given else None)
