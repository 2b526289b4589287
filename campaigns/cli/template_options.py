"""Options of `campaign create` that say which of several templates a recipient gets."""

from typing import Annotated

import typer

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
