"""Options that several commands have, each written and explained once."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

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
Rejects = Annotated[
    Path | None,
    typer.Option(
        help="Where bad rows are listed; default: people.rejects.csv for people.csv.", metavar="FILE"
    ),
]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(help="Port; 0 takes any free one.", min=0, max=65535)]
Seed = Annotated[int, typer.Option(help="Seed of every random choice.")]
