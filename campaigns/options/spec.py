"""A campaign to create: its options, and what no option says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from drumbeat.campaigns.options.audience_options import audience_of, pairs
from drumbeat.campaigns.options.guards import Guards, read_guards
from drumbeat.campaigns.options.order import canary_of, check_order, read_priority
from drumbeat.campaigns.options.param_texts import is_link
from drumbeat.campaigns.options.schedule import Schedule, check_max_failed, read_schedule
from drumbeat.campaigns.options.sources import (
    GIVEN_ROWS,
    STANDARD_INPUT,
    WHERE,
    Audience,
    CampaignResult,
    Corrections,
    GivenRows,
    ReadOptions,
    SqlQuery,
)
from drumbeat.campaigns.options.table import CampaignOptions
from drumbeat.campaigns.options.template_options import check_templates, header_of, media_of
from drumbeat.campaigns.options.variants import Variant, read_variants
from drumbeat.engine.core.order import Priority
from drumbeat.engine.core.sanitise import CONTROLS
from drumbeat.engine.core.template.compiled import Media
from drumbeat.engine.errors import UsageError

ON_UNKNOWN = ("hold", "resend-silent", "resend")
NAME_CHARACTERS_MAX = 200
STEPS_OF_PATHS = frozenset({".", ".."})  # no encoding keeps a browser from taking the step
BY_EXTERNAL_ID = "external:"  # before an external id that stands for a name
PHONE = "phone"


@dataclass(frozen=True, slots=True, kw_only=True)
class CampaignSpec(CampaignOptions):
    """A campaign to create. Options that contradict each other raise UsageError here; `checked_guards` checks
    each.

    `read_from` is the audience if no option names it. `stored_as` has options that are stored otherwise than
    they are read, by key: an upload has the name that its owner gave it; None is not stored. Paths of header
    files begin in `header_directory`, or else in the directory of the audience. `corrections` are rows of the
    audience that a person corrected. `message` is the free-form message of `message send`; then `template` is
    its type, and `language` is empty. `is_urgent` puts it before all campaigns. `test_of` is the campaign
    that a `campaign test-send` tests. `retry_of`, `retry_codes` and `retry_all_codes` belong to `campaign
    retry`.
    """

    read_from: Audience | None = None
    stored_as: Mapping[str, Any] = field(default_factory=dict)
    header_directory: Path | None = None
    corrections: Corrections = field(default_factory=dict)
    message: dict[str, Any] | None = None
    is_urgent: bool = False
    test_of: str | None = None
    retry_of: str | None = None
    retry_codes: tuple[int, ...] = ()
    retry_all_codes: bool = False
    source: Audience = field(init=False)  # where the people come from

    def __post_init__(self) -> None:
        check_templates(self)
        header_of(self)
        pairs("map", self.map)
        pairs("default", self.default)
        pairs("language_map", self.language_map)
        read_priority(self.priority)
        canary_of(self)
        source = audience_of(self) if self.read_from is None else self.read_from
        object.__setattr__(self, "source", source)

    def with_rows(self, rows: GivenRows | None) -> CampaignSpec:
        """Return the campaign with rows in memory as its audience; None leaves its own. They are stored as an
        upload is: by a name.
        """
        return self if rows is None else replace(self, read_from=rows, stored_as={"audience": GIVEN_ROWS})

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Return the templates among which people are divided by the key `experiment`."""
        return read_variants(self.variant or ())

    @property
    def first_template(self) -> str:
        """Return the name of the template, or that of the first variant."""
        return self.template or self.variants[0].template

    @property
    def mapped(self) -> Mapping[str, str]:
        return pairs("map", self.map)

    @property
    def defaults(self) -> Mapping[str, str]:
        return pairs("default", self.default)

    @property
    def reading(self) -> ReadOptions:
        return ReadOptions(
            self.format, self.sheet, self.hidden_rows, self.encoding, self.keep_spaces, self.header_row
        )

    @property
    def urgency(self) -> Priority:
        """Return the priority of the campaign, or that of a message to one person."""
        return Priority.URGENT if self.is_urgent else read_priority(self.priority)

    @property
    def header(self) -> str | None:
        """Return the column of the header's media, or `=FILE`; None if all messages show the same media."""
        return header_of(self)

    @property
    def header_media(self) -> Media | None:
        """Return the media of the header. `is_variable` is set if `header` says what each message shows."""
        return media_of(self)

    @property
    def media_directory(self) -> Path:
        """Return the directory in which paths of header files begin. `header_file` begins in the working
        directory, those of a column in that of the audience, if it is a file.
        """
        if self.header_directory is not None:
            return self.header_directory
        beside = self.audience_file not in (None, STANDARD_INPUT) and self.header_file is None
        return self.audience_file.parent if beside and self.audience_file is not None else Path.cwd()

    @property
    def audience_file(self) -> Path | None:
        """Return the path of the audience; None if it is no file."""
        return self.source if isinstance(self.source, Path) else None

    @property
    def audience_name(self) -> str:
        """Return the name that the audience has in errors."""
        match self.source:
            case SqlQuery():
                return WHERE
            case CampaignResult():
                return f"the campaign {self.source.name}"
            case GivenRows():
                return GIVEN_ROWS
            case path:
                return str(path)

    @property
    def phone_number_ids(self) -> list[str]:
        """Return each number once, in the order given."""
        return list(dict.fromkeys(self.number))

    def checked_schedule(self) -> Schedule:
        """Check the options that need neither file nor database. A UsageError names the wrong one."""
        self._check_names()
        if not self.number:
            raise UsageError(
                "no number to send with", remedy="name at least one with {number}", values={}, key="number"
            )
        if self.on_unknown not in ON_UNKNOWN:
            raise UsageError(
                "{on_unknown} {text!r} is not a policy",
                remedy=f"choose {', '.join(ON_UNKNOWN)}",
                values={"text": self.on_unknown},
            )
        if self.max_failed is not None:
            check_max_failed(self.max_failed)
        check_order(self)
        self._check_link()
        return read_schedule(self.start_at, self.expires_at, self.window, self.time_zone)

    def checked_guards(self) -> Guards:
        """Check the options of guards. Raise a UsageError that names the one that is wrong."""
        return read_guards(self, self.checked_schedule())

    def _check_names(self) -> None:
        if not self.name.strip() or len(self.name) > NAME_CHARACTERS_MAX or "\x00" in self.name:
            raise UsageError(f"a campaign's name must have 1 to {NAME_CHARACTERS_MAX} characters", key="name")
        if self.name.strip() in STEPS_OF_PATHS:
            raise UsageError(
                "a campaign's name cannot be {text!r}",
                remedy="an address and a path take it for a step upwards; use letters or digits",
                key="name",
                values={"text": self.name},
            )
        if self.name.startswith(BY_EXTERNAL_ID):
            raise UsageError(
                f"a campaign's name cannot begin with {BY_EXTERNAL_ID}",
                remedy="that names the campaign with an external id; give the id with {external_id}",
                key="name",
                values={},
            )
        for key, what, text in (
            ("name", "a campaign's name", self.name),
            ("external_id", "{external_id}", self.external_id or ""),
        ):
            if not CONTROLS.isdisjoint(text):
                raise UsageError(
                    f"{what} holds a control character", remedy="remove the character", key=key, values={}
                )

    def _check_link(self) -> None:
        if self.header_link and not is_link(self.header_link):
            raise UsageError(
                "{header_link} {text!r} is not an HTTPS URL",
                remedy="use a URL such as https://files.example/a.jpg",
                values={"text": self.header_link},
            )
