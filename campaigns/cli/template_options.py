"""Options of `campaign create` that say which of several templates a recipient gets."""

from collections.abc import Sequence
from typing import Annotated

import typer

from campaigns.planning.variants import Variant
from engine.errors import UsageError

Template = Annotated[
    str | None, typer.Option(help="Name of an approved template. Needed unless --variant is given.")
]
LanguageColumn = Annotated[
    str | None,
    typer.Option(
        help="Column with the language of each recipient, such as pt-br. Who names none of the template's"
        " languages gets --language.",
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
    """The template that is given, or that of the first variant; UsageError for both or none."""
    if (template is None) == (not variants):
        raise UsageError(
            "a campaign needs one template or several variants", remedy="give --template or --variant"
        )
    if experiment is not None and not variants:
        raise UsageError("--experiment needs --variant")
    return template or variants[0].template
