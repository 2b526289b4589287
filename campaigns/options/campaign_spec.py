"""The options of a campaign: the one list that commands, manifests, stored options and the console share."""

from pathlib import Path
from typing import Annotated

import typer

from drumbeat.campaigns.options.audience_options import (
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
from drumbeat.campaigns.options.common_options import MaxFailed, NewName, PhoneColumn, Region, rejects_option
from drumbeat.campaigns.options.guard_options import Cap, Days, MaxRecipients, QuietHours
from drumbeat.campaigns.options.guards import GuardOptions
from drumbeat.campaigns.options.listing import keeps_given
from drumbeat.campaigns.options.order_flags import (
    Canary,
    CanaryApprove,
    CanaryMaxFailed,
    CanaryMinutes,
    PauseAtFailed,
    Priority,
    Share,
    order_of,
)
from drumbeat.campaigns.options.sources import ReadOptions
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.template_options import (
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
from drumbeat.campaigns.options.variants import read_variants

Language = Annotated[str, typer.Option(help="Language of the template, such as pt_BR.")]
Numbers = Annotated[
    list[str], typer.Option(help="Phone number ID to send with; repeat for more.", metavar="PNID")
]
ExternalId = Annotated[
    str | None, typer.Option(help="Your own key. No other campaign can have it.", metavar="K")
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
    """Return the campaign that these options describe. Raise UsageError for options that contradict each
    other.

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
