"""`drumbeat campaign create`: an audience becomes a campaign, ready to be sent."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from campaigns.audience.opening import ReadOptions
from campaigns.cli.audience_options import (
    AsMobile,
    AudienceCampaign,
    AudienceDatabase,
    AudienceFile,
    AudienceSql,
    Code,
    Defaults,
    Excludes,
    FileFormat,
    Maps,
    Sheet,
    State,
    audience_of,
    pairs,
)
from campaigns.cli.changes_text import print_changes
from campaigns.cli.database_errors import database_blamed
from campaigns.cli.guard_options import Cap, Days, MaxRecipients, QuietHours
from campaigns.cli.options import (
    DryRun,
    Json,
    MaxFailed,
    NewName,
    PhoneColumn,
    Quiet,
    Region,
    rejects_option,
)
from campaigns.cli.order_options import (
    Canary,
    CanaryApprove,
    CanaryMaxFailed,
    CanaryMinutes,
    PauseAtFailed,
    Priority,
    Share,
    order_of,
)
from campaigns.cli.planning_progress import GUESS, planning_shown
from campaigns.cli.printing import print_json
from campaigns.cli.status_text import audience_sum, quota_warning
from campaigns.cli.task_runner import ready_database, run_loop, uploads_with, with_database
from campaigns.cli.template_options import (
    Experiment,
    HeaderColumn,
    HeaderFile,
    HeaderFilename,
    HeaderLink,
    HeaderMediaId,
    LanguageColumn,
    Params,
    StrictLanguage,
    Template,
    Variants,
    first_template,
    header_of,
)
from campaigns.command_text import command_text
from campaigns.manifest.command import takes_options
from campaigns.manifest.options import keeps_given
from campaigns.planning.create import create_campaign
from campaigns.planning.created import CreatedCampaign
from campaigns.planning.guards import GuardOptions
from campaigns.planning.spec import CampaignSpec
from campaigns.planning.template_set import unmatched_text
from campaigns.planning.variants import read_variants
from campaigns.pluralise import pluralise
from campaigns.preview.days import days_needed
from campaigns.template_shares import share_lines, shares_json
from engine.core.states import CampaignState
from engine.process.settings import load_settings

app = typer.Typer(add_completion=False)

Language = Annotated[str, typer.Option(help="Language of the template, such as pt_BR.")]
Numbers = Annotated[
    list[str], typer.Option(help="Phone number ID to send with; repeat for more.", metavar="PNID")
]
ExternalId = Annotated[
    str | None, typer.Option(help="Your own key. Like the name, it belongs to one campaign.", metavar="K")
]
StartAt = Annotated[
    str | None,
    typer.Option(help="Earliest time to send: ISO 8601 with an offset. Before it, a run exits with 75."),
]
ExpiresAt = Annotated[
    str | None, typer.Option(help="Time to stop and skip all remaining recipients: ISO 8601 with an offset.")
]
Window = Annotated[
    str | None,
    typer.Option(
        help="Hours of the day to send in; may pass midnight. Outside them a run waits.",
        metavar="09:00-20:00",
    ),
]
TimeZone = Annotated[
    str,
    typer.Option(help="Time zone of the window and the days; recipient is the local time of each recipient."),
]
OnUnknown = Annotated[
    str,
    typer.Option(
        help="What to do with recipients in doubt. hold: wait for events or a person. resend-silent: send"
        " again if no event came for a while. resend: send again at once, perhaps a second message."
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Refuse the file if any row is bad.")]


@keeps_given
def campaign_spec(
    *,
    name: NewName,
    language: Language,
    number: Numbers,
    template: Template = None,
    variant: Variants = None,
    experiment: Experiment = None,
    language_column: LanguageColumn = None,
    strict_language: StrictLanguage = False,
    audience: AudienceFile = None,
    audience_sql: AudienceSql = None,
    audience_database: AudienceDatabase = None,
    audience_campaign: AudienceCampaign = None,
    state: State = None,
    code: Code = None,
    file_format: FileFormat = None,
    sheet: Sheet = None,
    param: Params = None,
    phone_column: PhoneColumn = "phone",
    column_map: Maps = None,
    default: Defaults = None,
    region: Region = None,
    as_mobile: AsMobile = None,
    exclude: Excludes = None,
    external_id: ExternalId = None,
    start_at: StartAt = None,
    expires_at: ExpiresAt = None,
    window: Window = None,
    time_zone: TimeZone = "UTC",
    days: Days = None,
    quiet_hours: QuietHours = None,
    cap: Cap = None,
    max_recipients: MaxRecipients = None,
    on_unknown: OnUnknown = "hold",
    max_failed: MaxFailed = None,
    priority: Priority = "normal",
    share: Share = None,
    pause_at_failed: PauseAtFailed = None,
    canary: Canary = None,
    canary_max_failed: CanaryMaxFailed = None,
    canary_minutes: CanaryMinutes = None,
    canary_approve: CanaryApprove = False,
    strict: Strict = False,
    rejects: Annotated[Path | None, rejects_option("rejects")] = None,
    header_column: HeaderColumn = None,
    header_file: HeaderFile = None,
    header_link: HeaderLink = None,
    header_media_id: HeaderMediaId = None,
    header_filename: HeaderFilename = None,
) -> CampaignSpec:
    """The campaign that these options describe; UsageError for options that contradict each other.

    This signature is the one list of the options of a campaign: `create`, `apply`, `clone` and `edit` take
    what stands here, and a manifest has a key for each.
    """
    variants = read_variants(variant or ())
    header = header_of(header_column, header_file, header_link, header_media_id, header_filename)
    return CampaignSpec(
        name=name,
        template=first_template(template, variants, experiment),
        language=language,
        audience=audience_of(audience, audience_sql, audience_database, audience_campaign, state, code),
        numbers=tuple(number),
        params=tuple(param or ()),
        phone_column=phone_column,
        region=region,
        external_id=external_id,
        start_at=start_at,
        expires_at=expires_at,
        window=window,
        time_zone=time_zone,
        on_unknown=on_unknown,
        max_failed=max_failed,
        strict=strict,
        rejects=rejects,
        header_media=header.media,
        header=header.header,
        header_directory=header.directory,
        reading=ReadOptions(file_format, sheet),
        mapped=pairs("--map", column_map),
        defaults=pairs("--default", default),
        exclude=tuple(exclude or ()),
        as_mobile=tuple(as_mobile or ()),
        guards=GuardOptions(quiet_hours, days, cap, max_recipients),
        language_column=language_column,
        strict_language=strict_language,
        order=order_of(
            priority, share, pause_at_failed, canary, canary_max_failed, canary_minutes, canary_approve
        ),
        variants=variants,
        experiment=experiment,
    )


@app.command()
@takes_options(campaign_spec)
def create(
    *, options: dict[str, Any], dry_run: DryRun = False, json: Json = False, quiet: Quiet = False
) -> None:
    """Check the audience against the template and store its recipients. Send nothing.

    If you repeat the same command, nothing changes. If the name exists with another file or other options,
    the command refuses.
    """
    create_and_show(campaign_spec(**options), dry_run=dry_run, json=json, quiet=quiet)


def create_and_show(
    spec: CampaignSpec, *, dry_run: bool, json: bool, quiet: bool, change_by: str | None = None
) -> None:
    spec.checked_guards()  # reports wrong options before a database is started
    settings = load_settings()
    url = ready_database(settings)
    with planning_shown(quiet=quiet) as progress, database_blamed(url):
        created = run_loop(
            create_campaign(
                url,
                spec,
                progress,
                disk=settings.disk(),
                dry_run=dry_run,
                change_by=change_by,
                open_uploads=uploads_with(settings),
            )
        )
    show_created(created, json=json)


def show_created(created: CreatedCampaign, *, json: bool) -> None:
    """Print what a create or a change did, or would do."""
    recipients, scope = created.counts.recipients, load_settings().quota_scope
    days = with_database(lambda pool: days_needed(pool, created.phone_number_ids, recipients, scope))
    if json:
        print_json({**_as_json(created), "days": days})
    else:
        _print(created, days)


def _as_json(created: CreatedCampaign) -> dict[str, Any]:
    counts = created.counts
    return {
        "schema": 1,
        **created.as_json(),
        "without_hours": counts.without_hours,
        "rejects_file": None if created.rejects_path is None else str(created.rejects_path),
        "templates": shares_json(created.templates, counts.recipients),
        "unmatched_languages": dict(created.unmatched),
        "same_people": [earlier.as_json() for earlier in created.same_people],
        "changes": [change.as_json() for change in created.changes],
    }


def _print(created: CreatedCampaign, days: int) -> None:
    state = "a dry run, nothing is stored" if created.dry_run else created.state
    typer.echo(
        f"{created.name}: {state}"
        + (", unchanged: this campaign exists already" if created.unchanged else "")
    )
    print_changes(created.changes)
    for line in (*_audience_lines(created), *_earlier_lines(created)):
        typer.echo(line)
    if days > 1:
        typer.echo(quota_warning(days))
    if not created.unchanged and not created.dry_run and created.state == CampaignState.DRAFT:
        typer.echo(f"send it with: {command_text('campaign', 'run', created.name)}")


def _audience_lines(created: CreatedCampaign) -> Iterator[str]:
    """What became of the rows of the audience."""
    counts = created.counts
    yield audience_sum(counts.audience_rows, counts.recipients, counts.rejected, counts.duplicates)
    if counts.suppressed:
        are = pluralise(counts.suppressed, "recipient is", "recipients are")
        yield f"{are} on the suppression list and will be skipped"
    if counts.without_hours:
        have = pluralise(counts.without_hours, "recipient has", "recipients have")
        yield f"{have} no sending hours and will be skipped: their time zones share no allowed hour"
    yield from share_lines(created.templates)
    if created.unmatched:
        yield f"no language of the template, so they get the fallback: {unmatched_text(created.unmatched)}"
    if created.encoding is not None and created.encoding.is_guess:
        yield f"read as {created.encoding.label}: {GUESS}"
    codes = ", ".join(f"{code} {count:,}" for code, count in created.reject_codes.items())
    if created.rejects_path is not None:
        yield f"rejected and duplicate rows: {created.rejects_path} ({codes})"
    elif codes:
        yield f"rejected and duplicate rows: {codes}"


def _earlier_lines(created: CreatedCampaign) -> Iterator[str]:
    """Warnings about people who got, or are about to get, another message."""
    if created.same_audience:
        others = ", ".join(f'"{name}"' for name in created.same_audience)
        yield (
            f"warning: the same file is the audience of {others}: recipients get a message from each, "
            "unless a cap on the messages to one person (--cap) forbids it"
        )
    for earlier in created.same_people:
        people = pluralise(earlier.recipients, "recipient is", "recipients are")
        since = f"{earlier.since:%Y-%m-%d %H:%MZ}"
        sent = f"sent since {since}" if earlier.started else f"planned since {since} and not sent yet"
        yield f'warning: {people} also in the campaign "{earlier.name}", {sent}'
