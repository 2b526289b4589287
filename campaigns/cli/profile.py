"""`drumbeat profile`: what recipients see of the business."""

from dataclasses import asdict
from typing import Annotated

import typer

from drumbeat.campaigns.cli.options import Json, PhoneNumberId
from drumbeat.campaigns.cli.printing import note, print_json
from drumbeat.campaigns.cli.task_runner import with_service
from drumbeat.engine.errors import UsageError

app = typer.Typer(
    name="profile",
    help="Show and update the business profile of a number.",
    no_args_is_help=True,
    add_completion=False,
)


@app.command()
def show(phone_number_id: PhoneNumberId, json: Json = False) -> None:
    """Show the profile as the service has it."""
    profile = with_service(lambda _, service, __: service.profiles.get(phone_number_id))
    if json:
        print_json({"schema": 1, "phone_number_id": phone_number_id, **asdict(profile)})
        return
    for name, value in asdict(profile).items():
        if value:
            typer.echo(f"{name}: {', '.join(value) if isinstance(value, tuple) else value}")


@app.command()
def update(
    phone_number_id: PhoneNumberId,
    about: Annotated[str | None, typer.Option(help="A line about the business.")] = None,
    address: Annotated[str | None, typer.Option(help="Its address.")] = None,
    description: Annotated[str | None, typer.Option(help="A description.")] = None,
    email: Annotated[str | None, typer.Option(help="An e-mail address.")] = None,
    vertical: Annotated[str | None, typer.Option(help="The line of business, such as RETAIL.")] = None,
    website: Annotated[
        list[str] | None, typer.Option(help="A website; repeat for a second one.", metavar="URL")
    ] = None,
    profile_picture_handle: Annotated[str | None, typer.Option(help="Handle of an uploaded picture.")] = None,
    json: Json = False,
) -> None:
    """Change the given parts of the profile. An empty text removes one; the others stay."""
    from drumbeat.engine.api import Profile  # imports aiohttp

    profile = Profile(
        about=about,
        address=address,
        description=description,
        email=email,
        vertical=vertical,
        websites=None if website is None else tuple(website),
        profile_picture_handle=profile_picture_handle,
    )
    changed = [name for name, value in asdict(profile).items() if value is not None]
    if not changed:
        raise UsageError("nothing to change", remedy="give at least one option, such as --about")
    with_service(lambda _, service, __: service.profiles.update(phone_number_id, profile))
    if json:
        print_json({"schema": 1, "phone_number_id": phone_number_id, "changed": changed})
        return
    note(f"{phone_number_id}: changed {', '.join(changed)}")
