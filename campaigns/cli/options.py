"""The options that several commands share."""

from pathlib import Path
from typing import Annotated

import typer

CampaignName = Annotated[str, typer.Argument(help="The campaign's name or external id.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")]
Quiet = Annotated[
    bool, typer.Option("--quiet", help="Print results only: no progress, and no log events below a warning.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be done, and do nothing.")]
Output = Annotated[Path | None, typer.Option(help="File to write to. Default: stdout.", metavar="FILE")]
Now = Annotated[bool, typer.Option("--now", help="Send at once if the start time has passed.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask for confirmation.")]
PhoneNumberId = Annotated[str, typer.Argument(metavar="PNID", help="The phone number ID.")]
Host = Annotated[str, typer.Option(help="Address to listen on.")]
Port = Annotated[int, typer.Option(help="Port to listen on; 0 picks a free one.", min=0, max=65535)]
MetricsHost = Annotated[
    str | None, typer.Option(help="Address to serve metrics on. Default: 127.0.0.1.", metavar="HOST")
]
Seed = Annotated[int, typer.Option(help="Seed for all random choices.")]
