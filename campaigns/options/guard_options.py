"""The options that keep a message from a recipient for now, or for good."""

from typing import Annotated

import typer

Days = Annotated[
    str | None,
    typer.Option(help="Days of the week to send on: mon-fri or sat,sun. Default: every day.", metavar="DAYS"),
]
QuietHours = Annotated[
    str | None,
    typer.Option(
        help="Hours in which a recipient gets nothing, by the recipient's local time. These recipients wait,"
        " and the others are sent to.",
        metavar="20:00-09:00",
    ),
]
Cap = Annotated[
    str | None,
    typer.Option(
        help="Most messages to one person in a time, of all campaigns and numbers: 2/7d is two in 7 days. A"
        " person who got as many is skipped.",
        metavar="2/7d",
    ),
]
MaxRecipients = Annotated[
    int | None,
    typer.Option(help="Refuse an audience that has more recipients than this.", metavar="N"),
]
