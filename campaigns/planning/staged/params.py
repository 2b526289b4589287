"""A reader of `param` for a template: it finds the column that fills each placeholder.

Law: if the text before the first colon is the word of a placeholder, the rest is the column, whatever it
holds. Any other text is a column of its own, for the next placeholder in order.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches

from drumbeat.campaigns.audience.check.columns import has_column
from drumbeat.campaigns.options.param_texts import is_literal
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.core.template.campaign_template import CampaignTemplate
from drumbeat.engine.core.template.placeholder import MEDIA, Placeholder
from drumbeat.engine.errors import UsageError

_NAME = re.compile(r"[A-Za-z0-9_-]+:.+")


@dataclass(frozen=True, slots=True)
class Params:
    """The values that fill a template.

    `columns` has a column or `=text` for each placeholder in order, without the media of the header.
    `buttons` are the indexes of the optional buttons that are filled.
    """

    columns: tuple[str, ...]
    buttons: tuple[int, ...] = ()


@dataclass(slots=True)
class _Given:
    """The texts of `param` by their two forms. `unknown` texts look named, but name nothing."""

    by_word: dict[str, str] = field(default_factory=dict)
    in_order: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)


def read_params(template: CampaignTemplate, params: Sequence[str], columns: Sequence[str]) -> Params:
    """Return the column of each placeholder. `columns` has those of the audience, under all of their names.

    Raise UsageError for a name that the template does not have or that is given twice, for a placeholder
    without a column, and if placeholders are filled by name as well as in order.
    """
    required = [each for each in template.compiled().placeholders if each.component != MEDIA]
    optional = template.optional_buttons()
    given = _sorted(template, params, [*required, *optional], columns)
    named = [each for each in required if each.word in given.by_word]
    if named and given.in_order:
        raise UsageError(
            f"{{param}} fills {{named}} of {_title(template)} by name, and others in order",
            remedy=f"name all of them: {_forms(required)}",
            values={"named": _listed(named)},
        )
    if not named:
        _check_count(template, given.in_order, required)
    elif missing := [each for each in required if each.word not in given.by_word]:
        raise UsageError(
            f"{{param}} leaves out {{missing}} of {_title(template)}",
            remedy=f"add {_forms(missing)}",
            values={"missing": _listed(missing)},
        )
    chosen = [each for each in optional if each.word in given.by_word]
    in_order = [given.by_word[each.word] for each in named] or given.in_order
    by_placeholder = dict(zip(required, in_order, strict=True))
    by_placeholder.update({each: given.by_word[each.word] for each in chosen})
    buttons = tuple(each.button for each in chosen if each.button is not None)
    ordered = template.filled(buttons).compiled().placeholders
    return Params(tuple(by_placeholder[each] for each in ordered if each.component != MEDIA), buttons)


def _sorted(
    template: CampaignTemplate,
    params: Sequence[str],
    placeholders: Sequence[Placeholder],
    columns: Sequence[str],
) -> _Given:
    words = {each.word for each in placeholders}
    given = _Given()
    for param in params:
        word, colon, column = param.partition(":")
        if not (colon and word in words):
            looks_named = not is_literal(param) and _NAME.fullmatch(param) and not has_column(columns, param)
            (given.unknown if looks_named else given.in_order).append(param)
        elif word in given.by_word:
            raise UsageError(f'{{param}} names "{word}" twice', remedy="remove one", values={})
        elif not column:
            raise UsageError(
                f"{{param}} {word}: names no column",
                remedy=f"write {word}:COLUMN or {word}:=text",
                values={},
            )
        else:
            given.by_word[word] = column
    if given.unknown:
        raise _unknown(template, given.unknown[0], placeholders)
    return given


def _unknown(template: CampaignTemplate, param: str, placeholders: Sequence[Placeholder]) -> UsageError:
    name = param.partition(":")[0]
    words = list(dict.fromkeys(each.word for each in placeholders))
    near = get_close_matches(name, words)
    hint = f'; perhaps you mean "{near[0]}"' if near else ""
    has = f"it has {', '.join(words)}" if words else "it has none"
    return UsageError(
        f'{{param}} {{text}}: {_title(template)} has no placeholder "{name}", and the audience no column of'
        f" that name{hint}",
        remedy=f"{has}; see `drumbeat templates show {template.name}`",
        values={"text": param},
    )


def _check_count(template: CampaignTemplate, given: Sequence[str], required: Sequence[Placeholder]) -> None:
    if len(given) == len(required):
        return
    times = "once" if len(given) == 1 else f"{len(given)} times"
    raise UsageError(
        f"{_title(template)} has {pluralise(len(required), 'placeholder')}, but {{param}} is given {times}",
        remedy="give a column or =text for each, in this order: {required}" if required else "remove {param}",
        values={"required": _listed(required)},
    )


def _title(template: CampaignTemplate) -> str:
    return f"the template {template.name} ({template.language})"


def _listed(placeholders: Sequence[Placeholder]) -> str:
    return ", ".join(map(str, placeholders))


def _forms(placeholders: Sequence[Placeholder]) -> str:
    words = dict.fromkeys(each.word for each in placeholders)
    return " ".join(f"{{param}} {word}:COLUMN" for word in words)
