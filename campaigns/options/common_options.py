"""The options of a campaign that other commands have too."""

from typing import Annotated, Any

import typer

NewName = Annotated[str, typer.Argument(help="Name of the new campaign.")]
MaxFailed = Annotated[
    str | None, typer.Option(help="Exit with 3 if more recipients fail than this.", metavar="N|N%")
]
PhoneColumn = Annotated[str, typer.Option(help="Column that holds the phone numbers.")]
Region = Annotated[
    str | None, typer.Option(help="Country of phone numbers without a country code, such as BR.")
]


def rejects_option(kind: str) -> Any:
    """Return `--rejects` for a command whose lists are named `people.KIND.csv` by default."""
    return typer.Option(
        help=f"File that lists the bad rows. Default: people.{kind}.csv for people.csv.", metavar="FILE"
    )
