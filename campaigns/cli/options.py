"""Options that several commands have, each written and explained once."""

from __future__ import annotations

from typing import Annotated, Any

import typer

CampaignName = Annotated[str, typer.Argument(help="The campaign's name.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print results only: no progress, no log below a warning.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only say what would be done.")]
MaxFailed = Annotated[
    str | None, typer.Option(help="Exit 3 when more recipients fail than this.", metavar="N|N%")
]
PhoneColumn = Annotated[str, typer.Option(help="Column of the phone number.")]
Region = Annotated[str | None, typer.Option(help="Country of national numbers, such as BR.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(help="Port; 0 takes any free one.", min=0, max=65535)]
Seed = Annotated[int, typer.Option(help="Seed of every random choice.")]


def rejects_option(kind: str) -> Any:
    """`--rejects` of a command whose lists are named like `people.KIND.csv`."""
    return typer.Option(
        help=f"Where bad rows are listed; default: people.{kind}.csv for people.csv.", metavar="FILE"
    )
