"""The comparison of what templates need: the languages of one template, or a template then and now."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from drumbeat.engine.core.template.compiled import CompiledTemplate
from drumbeat.engine.core.template.placeholder import Placeholder


def placeholder_differences(first: Sequence[Placeholder], other: Sequence[Placeholder]) -> list[str]:
    """Return what `other` lacks, as `no body {{2}}`, and what it has in addition, as `a button {{1}}`.

    The order does not count.
    """
    wanted, found = Counter(map(str, first)), Counter(map(str, other))
    lacking = [f"no {text}" for text in (wanted - found).elements()]
    return lacking + [f"a {text}" for text in (found - wanted).elements()]


def request_changes(before: CompiledTemplate, now: CompiledTemplate) -> list[str]:
    """Return how the parameters of a request changed, each as `body {{3}} was added`.

    The list is empty if a request made for `before` still fits. The order of named parameters does not count.
    """
    old, new = Counter(_slots(before)), Counter(_slots(now))
    removed, added = sorted((old - new).elements()), sorted((new - old).elements())
    changes = []
    for component in dict.fromkeys(component for component, _ in removed + added):
        gone = [what for where, what in removed if where == component]
        come = [what for where, what in added if where == component]
        if len(gone) == len(come) == 1:
            changes.append(f"{component} {gone[0]} became {come[0]}")
        else:
            changes += [f"{component} {what} was removed" for what in gone]
            changes += [f"{component} {what} was added" for what in come]
    return changes


def _slots(template: CompiledTemplate) -> Iterator[tuple[str, str]]:
    """Yield the parts of a request that values fill, as component and what stands there."""
    body = json.loads(template.payload("", ["x"] * len(template.placeholders), None))
    for component in body["template"].get("components", ()):
        where = str(component["type"])
        if "index" in component:
            where = f"{where} {component['index']}"
        for position, parameter in enumerate(component.get("parameters", ()), 1):
            yield where, _what(parameter, position, str(component.get("sub_type", "")))


def _what(parameter: dict[str, Any], position: int, sub_type: str) -> str:
    kind = str(parameter.get("type", ""))
    if kind != "text":
        return kind
    name = parameter.get("parameter_name", position)
    return f"{sub_type} {{{{{name}}}}}".lstrip()
