"""The options of a campaign: one table, which commands, manifests, stored options, requests and pages read.

A row is a field: its key, its type, its default, and in `Row` what people read of it. The command line makes
a flag of the key, and the pages have a label for it. The rows stand in the order of `--help`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

from drumbeat.campaigns.options.option import FILE_OR_NAME, Option, Row, options_of
from drumbeat.campaigns.options.sources import Format, HiddenRowsChoice, PhoneKind
from drumbeat.engine.core.phone_aliases import COUNTRIES
from drumbeat.engine.core.states import RecipientState

CANARY_MAX_FAILED = "5%"
# The service reports nearly every status within a quarter of an hour.
CANARY_MINUTES = 15.0
FORMS = "CSV, XLSX, XLS, ODS, JSON Lines or Parquet, also packed with gzip, zip or zstd"

# The panels of `--help`: they divide the many options, so that a person finds one.
AUDIENCE = "Audience"
MESSAGE = "Message"
HOURS = "Sending hours"
GUARDS = "Guards"
CANARY = "Canary"
ORDER = "Order"
CAMPAIGN = "Campaign"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignOptions:
    """The options of a campaign as they are given; None if one is not. A list has a text for each time that
    its option is repeated.
    """

    name: Annotated[str, Row(CAMPAIGN, "Name of the new campaign.")]
    audience: Annotated[
        Path | None, Row(AUDIENCE, f"File with the recipients: {FORMS}. - is standard input.", "FILE")
    ] = None
    audience_sql: Annotated[
        str | None, Row(AUDIENCE, "Query of a Postgres database, instead of a file.", "QUERY")
    ] = None
    audience_database: Annotated[
        str | None,
        Row(
            AUDIENCE,
            "URL of that database. Default: the setting audience_database_url, which no process list shows.",
            "URL",
        ),
    ] = field(default=None, repr=False)  # may hold a password
    audience_campaign: Annotated[
        str | None, Row(AUDIENCE, "Another campaign, instead of a file.", "NAME")
    ] = None
    state: Annotated[
        RecipientState | None,
        Row(AUDIENCE, "Only the recipients of that campaign in this state.", "STATE"),
    ] = None
    code: Annotated[
        int | None, Row(AUDIENCE, "Only the recipients of that campaign that failed with this code.")
    ] = None
    format: Annotated[
        Format | None,
        Row(
            AUDIENCE,
            "What the file holds: csv, jsonl, xlsx, xls, ods or parquet. Default: found in its first bytes.",
            "FORMAT",
        ),
    ] = None
    sheet: Annotated[str | None, Row(AUDIENCE, "Sheet of a workbook.", "NAME")] = None
    hidden_rows: Annotated[
        HiddenRowsChoice | None,
        Row(
            AUDIENCE,
            "What to do with rows that a filter or a person has hidden in the workbook: read or skip.",
            "read|skip",
        ),
    ] = None
    header_row: Annotated[
        int | None,
        Row(
            AUDIENCE,
            "Row of a workbook or CSV file that names the columns, counted from 1; for titles above it.",
            "ROW",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        Row(
            AUDIENCE,
            "Encoding of a CSV file that does not say it, such as cp1250 or shift_jis. Default: UTF-8; if a"
            " file is not, you are asked, with the names as each encoding reads them.",
            "NAME",
        ),
    ] = None
    keep_spaces: Annotated[bool, Row(AUDIENCE, "Keep spaces and line breaks at the ends of values.")] = False
    repair: Annotated[
        bool,
        Row(
            AUDIENCE,
            "Repair values where that is certain: garbled letters, HTML entities, the ends of links.",
        ),
    ] = False
    empty_words: Annotated[
        bool,
        Row(
            AUDIENCE,
            'Take words for "no value", such as NULL or nan, and unfilled placeholders as empty cells.',
        ),
    ] = False
    phone_column: Annotated[str, Row(AUDIENCE, "Column that holds the phone numbers.")] = "phone"
    region: Annotated[
        str | None,
        Row(AUDIENCE, "Country of phone numbers without a country code, such as BR; 001 if all have one."),
    ] = None
    country_column: Annotated[
        str | None,
        Row(
            AUDIENCE,
            "Column with the country of each phone: ISO code, name or calling code. - says that none has it.",
            "COLUMN",
        ),
    ] = None
    repair_old: Annotated[
        list[str] | None,
        Row(
            AUDIENCE,
            "Bring numbers of this country's former numbering plan to today's; with AR, all are mobile;"
            " repeat for more.",
            "|".join(COUNTRIES),
        ),
    ] = None
    first_number: Annotated[bool, Row(AUDIENCE, "Take the first of two numbers in a cell.")] = False
    only_mobile: Annotated[bool, Row(AUDIENCE, "Leave out phones that are certainly no mobile ones.")] = False
    leave_out: Annotated[
        list[PhoneKind] | None,
        Row(
            AUDIENCE,
            "Leave out phones of this kind; repeat for more.",
            "|".join(kind.value for kind in PhoneKind),
        ),
    ] = None
    map: Annotated[
        list[str] | None,
        Row(AUDIENCE, "Your name for a column: first_name=Vorname; repeat for more.", "NAME=COLUMN"),
    ] = None
    default: Annotated[
        list[str] | None,
        Row(
            AUDIENCE,
            "Text for the empty cells of a column: first_name=friend; repeat for more.",
            "COLUMN=TEXT",
        ),
    ] = None
    exclude: Annotated[
        list[str] | None,
        Row(
            AUDIENCE,
            "Leave out the people of a file, or the recipients of a campaign; repeat for more.",
            FILE_OR_NAME,
        ),
    ] = None
    max_recipients: Annotated[
        int | None, Row(AUDIENCE, "Refuse an audience that has more recipients than this.", "N")
    ] = None
    min_recipients: Annotated[
        str | None,
        Row(
            AUDIENCE,
            "Exit with 75 while the audience has fewer recipients than this: a number, or a share of another"
            " campaign. orders-* is the newest campaign of such a name that was started.",
            "N|N% of NAME",
        ),
    ] = None
    unchanged_for: Annotated[
        str | None,
        Row(
            AUDIENCE,
            "Exit with 75 while the file is younger than this, such as 60s or 5m, or its last line does not"
            " end: then somebody may still write to it.",
            "TIME",
        ),
    ] = None
    allow_empty: Annotated[
        bool,
        Row(
            AUDIENCE,
            "Plan a campaign of nobody if the audience has columns and no rows, whatever {min_recipients}"
            " says. Default: exit with 75.",
        ),
    ] = False
    strict: Annotated[bool, Row(AUDIENCE, "Refuse the file if any row is bad.")] = False
    rejects: Annotated[
        Path | None,
        Row(
            AUDIENCE,
            "File that lists the bad rows. Default: people.rejects.csv for people.csv, NAME.rejects.csv for a"
            " query or a pipe.",
            "FILE",
        ),
    ] = None
    template: Annotated[
        str | None, Row(MESSAGE, "Name of an approved template. Needed unless {variant} is given.")
    ] = None
    language: Annotated[str, Row(MESSAGE, "Language of the template, such as pt_BR.")]
    language_column: Annotated[
        str | None,
        Row(
            MESSAGE,
            "Column with the language of each recipient, such as pt-br. A recipient whose cell names no"
            " language of the template gets {language}.",
            "COLUMN",
        ),
    ] = None
    language_map: Annotated[
        list[str] | None,
        Row(
            MESSAGE,
            "Language that a value of that column means: Suisse=fr; repeat for more. Codes and names such as"
            " Englisch are known.",
            "VALUE=LANGUAGE",
        ),
    ] = None
    strict_language: Annotated[
        bool, Row(MESSAGE, "Refuse the file if a row names no language of the template.")
    ] = False
    param: Annotated[
        list[str] | None,
        Row(
            MESSAGE,
            "Column for a placeholder; repeat for each, in order. =text is a fixed text. Or NAME:COLUMN and"
            " NAME:=text, in any order: if the text before the first colon names a placeholder, the rest is"
            " the column. `templates show` lists the names.",
            "COLUMN",
        ),
    ] = None
    header_column: Annotated[
        str | None,
        Row(
            MESSAGE,
            "Header media of each row: column of HTTPS URLs, or of files in the audience's directory.",
            "COLUMN",
        ),
    ] = None
    header_file: Annotated[Path | None, Row(MESSAGE, "Header media: a file, uploaded for you.", "FILE")] = (
        None
    )
    header_link: Annotated[str | None, Row(MESSAGE, "Header media: an HTTPS URL.")] = None
    header_media_id: Annotated[str | None, Row(MESSAGE, "Header media: the id of an uploaded file.")] = None
    header_filename: Annotated[
        str | None,
        Row(MESSAGE, "File name that is shown for a header document. Default: that of the file."),
    ] = None
    variant: Annotated[
        list[str] | None,
        Row(
            MESSAGE,
            "A template to compare with others, and its share of the people (default 1); repeat for each. A"
            " person gets one of them, always the same.",
            "NAME=TEMPLATE[:WEIGHT]",
        ),
    ] = None
    experiment: Annotated[
        str | None,
        Row(
            MESSAGE,
            "Key by which people are divided among the variants. Campaigns with the same key divide them"
            " alike. Default: the campaign's name.",
            "KEY",
        ),
    ] = None
    start_at: Annotated[
        str | None,
        Row(HOURS, "Earliest time to send: ISO 8601 with an offset. Before it, a run exits with 75."),
    ] = None
    expires_at: Annotated[
        str | None,
        Row(HOURS, "Time to stop and skip all remaining recipients: ISO 8601 with an offset."),
    ] = None
    window: Annotated[
        str | None,
        Row(
            HOURS,
            "Hours of the day to send in; may pass midnight. Outside them a run waits.",
            "09:00-20:00",
        ),
    ] = None
    days: Annotated[
        str | None,
        Row(HOURS, "Days of the week to send on: mon-fri or sat,sun. Default: every day.", "DAYS"),
    ] = None
    time_zone: Annotated[
        str,
        Row(
            HOURS,
            "Time zone of the window and the days; recipient is the local time of each recipient.",
        ),
    ] = "UTC"
    quiet_hours: Annotated[
        str | None,
        Row(
            HOURS,
            "Hours in which a recipient gets nothing, by the recipient's local time. These recipients wait,"
            " and the others are sent to.",
            "20:00-09:00",
        ),
    ] = None
    cap: Annotated[
        str | None,
        Row(
            GUARDS,
            "Most messages to one person in a time, of all campaigns and numbers: 2/7d is two in 7 days. A"
            " person who got as many is skipped.",
            "2/7d",
        ),
    ] = None
    on_unknown: Annotated[
        str,
        Row(
            GUARDS,
            "What to do with recipients in doubt. hold: wait for events or a person. resend-silent: send"
            " again if no event came for a while. resend: send again at once, perhaps a second message.",
        ),
    ] = "hold"
    max_failed: Annotated[
        str | None, Row(GUARDS, "Exit with 3 if more recipients fail than this.", "N|N%")
    ] = None
    pause_at_failed: Annotated[
        str | None,
        Row(GUARDS, "Pause the campaign when more recipients than this have failed.", "N|N%"),
    ] = None
    canary: Annotated[
        int | None, Row(CANARY, "Send to the first N recipients, then wait for their statuses.", "N")
    ] = None
    canary_max_failed: Annotated[
        str | None,
        Row(
            CANARY,
            f"Pause the campaign if more of the canary fail than this. Default: {CANARY_MAX_FAILED}.",
            "N|N%",
        ),
    ] = None
    canary_minutes: Annotated[
        float | None,
        Row(
            CANARY,
            f"Time to wait for the statuses of the canary. Default: {CANARY_MINUTES:g}.",
            "MINUTES",
        ),
    ] = None
    canary_approve: Annotated[bool, Row(CANARY, "After the canary, wait for `campaign approve` as well.")] = (
        False
    )
    priority: Annotated[
        str,
        Row(
            ORDER,
            "low, normal or high. A number sends its campaigns of a higher priority first.",
            "PRIORITY",
        ),
    ] = "normal"
    share: Annotated[
        int | None,
        Row(
            ORDER,
            "The campaign's part of each number's rate, while others of its priority send. Default: even"
            " parts.",
            "PERCENT",
        ),
    ] = None
    number: Annotated[list[str], Row(CAMPAIGN, "Phone number ID to send with; repeat for more.", "PNID")]
    external_id: Annotated[str | None, Row(CAMPAIGN, "Your own key. No other campaign can have it.", "K")] = (
        None
    )


OPTIONS: Mapping[str, Option] = options_of(CampaignOptions)  # by key
