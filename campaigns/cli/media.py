"""`drumbeat media`: files at the service."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.account.media import upload_file
from drumbeat.campaigns.cli.confirmation import confirm
from drumbeat.campaigns.cli.options import Json, Yes
from drumbeat.campaigns.cli.printing import note, print_json
from drumbeat.campaigns.cli.task_runner import with_client

app = typer.Typer(
    name="media",
    help="Upload, get and delete files at the service.",
    no_args_is_help=True,
    add_completion=False,
)
MediaId = Annotated[str, typer.Argument(help="The id of an uploaded or received file.", metavar="MEDIA_ID")]
Owner = Annotated[
    str | None, typer.Option("--number", help="Refuse a file of another number.", metavar="PNID")
]


@app.command()
def upload(
    file: Annotated[Path, typer.Argument(help="The file.", metavar="FILE")],
    number: Annotated[str, typer.Option(help="Phone number ID that will send it.", metavar="PNID")],
    mime_type: Annotated[
        str | None,
        typer.Option("--type", help="MIME type. Default: by the file's name.", metavar="TYPE"),
    ] = None,
    json: Json = False,
) -> None:
    """Upload a file. Its id can be sent for 30 days."""
    uploaded = with_client(lambda service: upload_file(service, number, file, mime_type))
    if json:
        print_json({"schema": 1, **asdict(uploaded)})
        return
    typer.echo(uploaded.media_id)
    note(f"can be sent by {number} until {uploaded.expires_at:%Y-%m-%d %H:%MZ}")


@app.command()
def get(
    media_id: MediaId,
    number: Owner = None,
    output: Annotated[
        Path | None, typer.Option(help="Download to this file. Default: only describe it.", metavar="FILE")
    ] = None,
    json: Json = False,
) -> None:
    """Describe a file, or download it and check it against its hash."""
    record = with_client(
        lambda service: (
            service.media.get(media_id, number)
            if output is None
            else service.media.download(media_id, output, number)
        )
    )
    if json:
        print_json({"schema": 1, **asdict(record), "file": None if output is None else str(output)})
        return
    typer.echo(f"{record.media_id}  {record.mime_type}  {record.file_size:,} bytes  sha256 {record.sha256}")
    if output is not None:
        note(f"written to {output}")


@app.command()
def delete(media_id: MediaId, number: Owner = None, yes: Yes = False, json: Json = False) -> None:
    """Delete a file at the service. Messages that use its id then fail."""
    confirm(f"Delete the file {media_id}?", yes=yes)
    with_client(lambda service: service.media.delete(media_id, number))
    if json:
        print_json({"schema": 1, "media_id": media_id, "deleted": True})
        return
    note(f"{media_id}: deleted")
