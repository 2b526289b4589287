"""The options of `campaign create`, and the identity by which a repeated create is recognised."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import orjson

from drumbeat.campaigns.options.guards import NO_GUARDS, GuardOptions, Guards
from drumbeat.campaigns.options.order import NO_ORDER, OrderOptions
from drumbeat.campaigns.options.param_texts import is_link, is_literal
from drumbeat.campaigns.options.schedule import Schedule, check_max_failed, read_schedule
from drumbeat.campaigns.options.sources import (
    AS_IT_IS,
    STANDARD_INPUT,
    WHERE,
    CampaignResult,
    Corrections,
    ReadOptions,
    SqlQuery,
)
from drumbeat.campaigns.options.stored_variables import VARIABLES
from drumbeat.campaigns.options.variants import Variant
from drumbeat.engine.core.sanitise import CONTROLS
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.errors import UsageError

ON_UNKNOWN = ("hold", "resend-silent", "resend")
NAME_CHARACTERS_MAX = 200
AUDIENCE_CONTENT = "the audience's content"  # key of the hash of the file or rows in the stored options
UNMATCHED = "languages not matched"  # key of a note: the number of rows for each unmatched language
CORRECTED_ROWS = "corrected rows"  # key of the hash of rows that a person corrected
NOTED = "noted"  # key of notes for people, which do not identify the campaign
BY_EXTERNAL_ID = "external:"  # before an external id that stands for a name
NAME = "name"
RETRY_OF = "retry of"  # key of the stored options: the campaign whose failed recipients are sent to again
RETRY_CODES = "retry of codes"  # key of the stored options: only recipients that failed with these codes
TEST_OF = "test of"  # key of the stored options: the campaign that is tested


@dataclass(frozen=True, slots=True)
class CampaignSpec:
    """All options of `campaign create`, as given. `numbers` are phone number IDs. Times are ISO 8601 with an
    offset.

    `audience` is a file, `-` for standard input, a query, or the result of a campaign; `reading` says how to
    read a file. `RowRules` explains `params`, `mapped` and `defaults`. `exclude` names files and campaigns.
    `window` is `HH:MM-HH:MM` in `time_zone`; `max_failed` is `N` or `N%`. `header` is a column, or `=FILE`,
    for the media of the header; then `header_media.is_variable` is set. Paths of files begin in
    `header_directory`, or else in the directory of the audience. `message` is the free-form message of
    `message send`; then `template` is its type, and `language` is empty. `test_of` is the campaign that a
    `campaign test-send` tests. `retry_of` and `retry_codes` belong to `campaign retry`. `language_column`
    names the language of each row; then `language` is for rows that name none of the template's. `variants`
    are templates among which people are divided by the key `experiment`; then `template` is that of the first
    one. `corrections` are rows of the audience that a person corrected. `given` has the options by the keys
    of a manifest, which clones and edits start from; it is empty if the campaign was made otherwise.
    """

    name: str
    template: str
    language: str
    audience: Path | SqlQuery | CampaignResult
    numbers: tuple[str, ...]
    params: tuple[str, ...] = ()
    phone_column: str = "phone"
    region: str | None = None
    external_id: str | None = None
    start_at: str | None = None
    expires_at: str | None = None
    window: str | None = None
    time_zone: str = "UTC"
    on_unknown: str = "hold"
    max_failed: str | None = None
    strict: bool = False
    rejects: Path | None = None
    header_media: Media | None = None
    header: str | None = None
    header_directory: Path | None = None
    message: dict[str, Any] | None = None
    test_of: str | None = None
    given: Mapping[str, Any] = field(default_factory=dict)
    retry_of: str | None = None
    retry_codes: tuple[int, ...] = ()
    reading: ReadOptions = AS_IT_IS
    mapped: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    exclude: tuple[str, ...] = ()
    as_mobile: tuple[str, ...] = ()
    guards: GuardOptions = NO_GUARDS
    language_column: str | None = None
    strict_language: bool = False
    order: OrderOptions = NO_ORDER
    variants: tuple[Variant, ...] = ()
    experiment: str | None = None
    corrections: Corrections = field(default_factory=dict)

    @property
    def header_column(self) -> str | None:
        """Return the column of `header`; None if `header` is not a column."""
        return None if self.header is None or is_literal(self.header) else self.header

    @property
    def media_directory(self) -> Path:
        """Return the directory in which paths of header files begin: that of the audience, or the working
        directory if the audience is no file.
        """
        if self.header_directory is not None:
            return self.header_directory
        return Path.cwd() if self.audience_file in (None, STANDARD_INPUT) else self.audience_file.parent

    @property
    def audience_file(self) -> Path | None:
        """Return the path of the audience; None if it is no file."""
        return self.audience if isinstance(self.audience, Path) else None

    @property
    def audience_name(self) -> str:
        """Return the name that the audience has in errors."""
        match self.audience:
            case SqlQuery():
                return WHERE
            case CampaignResult():
                return f"the campaign {self.audience.name}"
            case path:
                return str(path)

    @property
    def phone_number_ids(self) -> list[str]:
        """Return each number once, in the order given."""
        return list(dict.fromkeys(self.numbers))

    def checked_schedule(self) -> Schedule:
        """Check the options that need neither file nor database. A UsageError names the wrong one."""
        if not self.name.strip() or len(self.name) > NAME_CHARACTERS_MAX or "\x00" in self.name:
            raise UsageError(f"a campaign's name must have 1 to {NAME_CHARACTERS_MAX} characters", key="name")
        if self.name.startswith(BY_EXTERNAL_ID):
            raise UsageError(
                f"a campaign's name cannot begin with {BY_EXTERNAL_ID}",
                remedy="that names the campaign with an external id; give the id with --external-id",
                key="name",
            )
        for key, what, text in (
            ("name", "a campaign's name", self.name),
            ("external_id", "--external-id", self.external_id or ""),
        ):
            if not CONTROLS.isdisjoint(text):
                raise UsageError(f"{what} holds a control character", remedy="remove the character", key=key)
        if not self.numbers:
            raise UsageError("no number to send with", remedy="name at least one with --number", key="number")
        if self.on_unknown not in ON_UNKNOWN:
            raise UsageError(
                f"--on-unknown {self.on_unknown!r} is not a policy", remedy=f"choose {', '.join(ON_UNKNOWN)}"
            )
        if self.max_failed is not None:
            check_max_failed(self.max_failed)
        self.order.check()
        self._check_link()
        return read_schedule(self.start_at, self.expires_at, self.window, self.time_zone)

    def checked_guards(self) -> Guards:
        """Check the options of guards. Raise a UsageError that names the one that is wrong."""
        return self.guards.checked(self.checked_schedule())

    def _check_link(self) -> None:
        link = None if self.header_media is None else self.header_media.link
        if link is not None and not is_link(link):
            raise UsageError(
                f"--header-link {link!r} is not an HTTPS URL",
                remedy="use a URL such as https://files.example/a.jpg",
            )


@dataclass(frozen=True, slots=True)
class Difference:
    """An option whose stored value differs from the given one; None if it is not given."""

    option: str
    old: Any
    new: Any

    def __str__(self) -> str:
        if self.option == AUDIENCE_CONTENT:
            return f"{self.option} has changed"
        return f"{self.option} was {text_of(self.old)} and is {text_of(self.new)}"


@dataclass(frozen=True, slots=True)
class Identity:
    """The facts by which a repeated create is compared: the file's content and every option except paths.

    `options` is JSON: the name of each option → its value.
    """

    options: dict[str, Any]
    content_hash: str = field(init=False)

    def __post_init__(self) -> None:
        content = orjson.dumps(self.options, option=orjson.OPT_SORT_KEYS)
        object.__setattr__(self, "content_hash", hashlib.sha256(content).hexdigest())

    def differences(self, stored: Mapping[str, Any]) -> list[Difference]:
        """Return the options that differ from the stored ones."""
        given = {**stored, **self.options}.keys() - {NOTED, VARIABLES}
        names = [name for name in given if stored.get(name) != self.options.get(name)]
        return [Difference(name, stored.get(name), self.options.get(name)) for name in sorted(names)]


def identify(
    spec: CampaignSpec,
    schedule: Schedule,
    audience_sha256: str,
    excluded: Sequence[str] = (),
    header_content: str | None = None,
    corrected_rows: str | None = None,
) -> Identity:
    """Return the identity of a campaign. Times are compared as moments, and the order of numbers does not
    count.

    `excluded`, `header_content` and `corrected_rows` identify the contents of `--exclude`, of `--header-file`
    and of corrected rows. Options that earlier versions did not have are among them only if they are given:
    the identity of earlier campaigns must stay the same.
    """
    media = spec.header_media
    later = {
        "--map": dict(spec.mapped),
        "--default": dict(spec.defaults),
        "--exclude": sorted(set(excluded)),
        "--as-mobile": sorted({country.upper() for country in spec.as_mobile}),
        "--header-column": spec.header_column,
        "--header-file": header_content,
        "--language-column": spec.language_column,
        "--strict-language": spec.strict_language,
        "--variant": [str(variant) for variant in spec.variants],
        "--experiment": spec.experiment,
        CORRECTED_ROWS: corrected_rows,
    }
    return Identity(
        {
            NAME: spec.name,
            "--external-id": spec.external_id,
            "--template": spec.template,
            "--language": spec.language,
            AUDIENCE_CONTENT: audience_sha256,
            "--number": sorted(set(spec.numbers)),
            "--param": list(spec.params),
            "--phone-column": spec.phone_column,
            "--region": None if spec.region is None else spec.region.upper(),
            "--start-at": _moment(schedule.start_at),
            "--expires-at": _moment(schedule.expires_at),
            "--window": spec.window,
            "--time-zone": spec.time_zone,
            "--on-unknown": spec.on_unknown,
            "--max-failed": spec.max_failed,
            "--strict": spec.strict,
            "header media": None if media is None else [media.media_id, media.link, media.filename],
            **({} if spec.message is None else {"message": spec.message}),
            **({} if spec.test_of is None else {TEST_OF: spec.test_of}),
            **retry_options(spec.retry_of, spec.retry_codes),
            **{name: value for name, value in later.items() if value},
            **spec.order.identity(),
            **spec.guards.identity(),
        }
    )


def identify_again(spec: CampaignSpec, schedule: Schedule, stored: Mapping[str, Any]) -> Identity:
    """Return the identity with these options and the stored audience, which is not read again."""
    return identify(
        spec,
        schedule,
        stored[AUDIENCE_CONTENT],
        stored.get("--exclude", ()),
        stored.get("--header-file"),
        stored.get(CORRECTED_ROWS),
    )


def retry_options(retry_of: str | None, codes: Sequence[int]) -> dict[str, Any]:
    """Return the stored options of a retry; none for another campaign."""
    return {} if retry_of is None else {RETRY_OF: retry_of, RETRY_CODES: sorted(set(codes))}


def _moment(moment: datetime | None) -> str | None:
    return None if moment is None else moment.astimezone(UTC).isoformat()


def text_of(value: Any) -> str:
    """Return a stored option in words."""
    if isinstance(value, dict):
        return ", ".join(f"{name}={text}" for name, text in value.items())
    if isinstance(value, list):  # media have an id, a link and a file name; some are None
        return ", ".join(str(part) for part in value if part is not None) or "not given"
    return "not given" if value is None else str(value)


PHONE = "phone"


GIVEN = "given"  # key of a note: the options as they were given
