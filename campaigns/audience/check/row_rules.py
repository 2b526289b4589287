"""The rules for the rows of an audience: what each needs, and what was asked for its phones and values."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from drumbeat.campaigns.audience.check.header_media import HeaderMedia
from drumbeat.campaigns.audience.check.message_rules import MessageRules
from drumbeat.campaigns.audience.check.template_choice import TemplateChoice
from drumbeat.campaigns.options.param_texts import is_literal
from drumbeat.campaigns.options.sources import Corrections
from drumbeat.campaigns.phones.kinds import Kind
from drumbeat.campaigns.phones.phone_reader import PhoneRules


@dataclass(frozen=True, slots=True)
class RowRules:
    """The requirements that each row must meet, whatever the form of the audience.

    `params` has a column for each placeholder in order, or `=text` for a fixed text. `region` is the country
    of national numbers. `mapped` leads from another name for a column to its name in the audience. `defaults`
    leads from a column to the text for its empty cells. Columns are given by either name. `repair_old` are
    countries whose old numbers are repaired. `country_column` names the country of each row; NO_COLUMN says
    that none does. `first_number`, `leave_out` and `only_mobile` are those of `PhoneRules`. `choice` says
    which of several templates a row gets. `media` is set if the first of `params` is the media of the header.
    `corrections` are rows that stand in for those of the audience. `is_stored` says that the rows are
    recipients of a campaign, and that the first column has their phones as they are stored. `message` is
    what the messages demand of the values. `keep_spaces`, `repairs` and `empties_words` are requests about
    values: spaces at their ends stay, what is broken is repaired where that is certain, and words for "no
    value" are empty cells.
    """

    phone_column: str = "phone"
    params: tuple[str, ...] = ()
    region: str | None = None
    mapped: Mapping[str, str] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    repair_old: tuple[str, ...] = ()
    media: HeaderMedia | None = None
    choice: TemplateChoice | None = None
    corrections: Corrections = field(default_factory=dict)
    is_stored: bool = False
    country_column: str | None = None
    first_number: bool = False
    leave_out: frozenset[Kind] = frozenset()
    only_mobile: bool = False
    message: MessageRules | None = None
    keep_spaces: bool = False
    repairs: bool = False
    empties_words: bool = False

    @property
    def phones(self) -> PhoneRules:
        return PhoneRules(self.region, self.repair_old, self.first_number, self.leave_out, self.only_mobile)

    @property
    def literals(self) -> list[str]:
        return [param[1:] for param in self.params if is_literal(param)]


PHONES_ONLY = RowRules()
