"""The rules that a message sets for the values of a row: the lengths of its parts, its links and codes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.message_limits import FilledPart, filled_parts, url_beginnings
from drumbeat.engine.errors import UsageError


@dataclass(frozen=True, slots=True)
class MessageRules:
    """The rules of a campaign's messages. Positions are those of the values of a row.

    `parts` has the parts with a limit, for each template of the campaign. `beginnings` has, for each value in
    a link, what the templates have before it. `codes` are the positions of codes that people copy.
    """

    parts: tuple[tuple[FilledPart, ...], ...]
    beginnings: tuple[tuple[int, tuple[str, ...]], ...]
    codes: frozenset[int]


class TooLong(NamedTuple):
    """A row whose filled message has a part that is too long. `position` is that of its longest value."""

    at: int
    code: str
    position: int
    note: str


def message_rules(templates: Sequence[CampaignTemplate]) -> MessageRules:
    """Return the rules of templates that all take the values in the order of the first."""
    placeholders = templates[0].compiled().placeholders
    components = [template.definition.get("components") or () for template in templates]
    parts = tuple(filled_parts(each, placeholders) for each in components)
    beginnings: dict[int, dict[str, None]] = {}
    for each in components:
        for position, beginning in url_beginnings(each, placeholders).items():
            beginnings.setdefault(position, {})[beginning] = None
    return MessageRules(
        parts,
        tuple((position, tuple(found)) for position, found in beginnings.items()),
        frozenset(at for each in parts for part in each if part.name == "code" for at, _ in part.uses),
    )


def too_long(
    rules: MessageRules, values: Sequence[str | Sequence[str]], rows: int, template_of: Callable[[int], int]
) -> Iterator[TooLong]:
    """Give the rows whose message is too long, each once. `values` has a column or a fixed text for each
    position. `template_of` returns the index of a row's template; it is asked only about long rows.

    If the longest value of each column fits together, all rows do. So most columns cost one `max`.
    """
    longest = [len(value) if isinstance(value, str) else max(map(len, value), default=0) for value in values]
    doubtful = {part for parts in rules.parts for part in parts if part.length(longest) > part.most}
    if not doubtful:
        return
    for at in range(rows):
        lengths = [len(value if isinstance(value, str) else value[at]) for value in values]
        if all(part.length(lengths) <= part.most for part in doubtful):
            continue
        for part in rules.parts[template_of(at)]:
            if (length := part.length(lengths)) > part.most:
                position = max((each for each, _ in part.uses), key=lengths.__getitem__)
                yield TooLong(at, f"{part.name}_too_long", position, f"{length:,} characters")
                break


def require_room(rules: MessageRules, values: Sequence[str | None]) -> None:
    """Raise UsageError if fixed texts alone are too long for a part. `values` has None for a column."""
    lengths = [len(value or "") for value in values]
    for part in {part for parts in rules.parts for part in parts}:
        if any(values[at] for at, _ in part.uses) and (length := part.length(lengths)) > part.most:
            raise UsageError(
                f"the {part.name} with its fixed texts has {length:,} characters, and the service takes"
                f" {part.most:,}",
                remedy="shorten a fixed text of {param}",
                values={},
            )
