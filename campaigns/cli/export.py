"""`drumbeat campaign export`: what happened to each recipient, as a file."""

from functools import partial
from typing import Annotated

import typer

from drumbeat.campaigns.campaign import find_campaign, require_planned
from drumbeat.campaigns.cli.options import CampaignName, Output
from drumbeat.campaigns.cli.output import opened, writing
from drumbeat.campaigns.cli.printing import note
from drumbeat.campaigns.cli.task_runner import with_database
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.campaigns.results.export_files import ExportForm, Separator, form_of
from drumbeat.campaigns.results.export_writing import write_export
from drumbeat.campaigns.stored_recipients import ExportFilter
from drumbeat.engine.core.states import RecipientState
from drumbeat.engine.store.database import Pool

app = typer.Typer(add_completion=False)

States = Annotated[
    list[RecipientState] | None,
    typer.Option(
        help=f"Only recipients in this state: {', '.join(RecipientState)}; repeat for more.", metavar="STATE"
    ),
]
Codes = Annotated[
    list[int] | None, typer.Option(help="Only recipients that failed with this code; repeat for more.")
]
Senders = Annotated[
    list[str] | None,
    typer.Option(help="Only recipients of this phone number ID; repeat for more.", metavar="PNID"),
]
Countries = Annotated[
    list[str] | None,
    typer.Option(help="Only phones of this country, such as BR; repeat for more.", metavar="COUNTRY"),
]
Languages = Annotated[
    list[str] | None,
    typer.Option(help="Only recipients of the template in this language; repeat for more.", metavar="CODE"),
]
Variants = Annotated[
    list[str] | None, typer.Option(help="Only recipients of this variant; repeat for more.", metavar="LABEL")
]
Form = Annotated[
    ExportForm | None,
    typer.Option(
        "--format",
        help=f"One of {', '.join(ExportForm)}. Default: that of the file's name, else csv.",
        metavar="FORMAT",
    ),
]


@app.command()
def export(
    name: CampaignName,
    state: States = None,
    code: Codes = None,
    number: Senders = None,
    country: Countries = None,
    language: Languages = None,
    variant: Variants = None,
    output: Output = None,
    form: Form = None,
    separator: Annotated[
        Separator,
        typer.Option(
            help="Between the cells of CSV: comma, semicolon or tab.", metavar="comma|semicolon|tab"
        ),
    ] = Separator.COMMA,
) -> None:
    """Write every recipient with state, reason and times. The file holds phone numbers: keep it safe.

    The columns of the audience keep their names. The column code holds the service's error code of a failed
    recipient. It is empty if the service gave none; then the reason says more.

    The file appears whole or not at all: after an interrupted export, use the same command again.

    Phones have a plus. In CSV and XLSX, a text that a spreadsheet would run gets an apostrophe in front.
    If you use the file as an audience, the apostrophe is removed. A file of CSV is UTF-8 with a byte order
    mark, so that spreadsheets read accents right. A spreadsheet that saves CSV rounds phones: use XLSX, in
    which they stay texts, if you want to edit the list and send to it.
    """
    chosen = form_of(form, output)
    wanted = ExportFilter(
        frozenset(state or ()),
        frozenset(code or ()),
        frozenset(number or ()),
        frozenset(map(str.upper, country or ())),
        frozenset(language or ()),
        frozenset(variant or ()),
    )

    async def write(pool: Pool) -> int:
        campaign = await find_campaign(pool, name)
        require_planned(campaign)
        with opened(output) as text:
            return await write_export(
                pool,
                campaign,
                text.buffer,
                chosen,
                wanted,
                separator=separator,
                is_marked=output is not None,
                writing=partial(writing, output),
            )

    rows = with_database(write)
    if output is not None:
        note(f"{pluralise(rows, 'recipient')} in {output}")
