"""The variants of a campaign: templates that are compared with each other."""

from collections.abc import Sequence
from dataclasses import dataclass

from drumbeat.engine.errors import UsageError

WEIGHT_MAX = 1_000
VARIANTS_MAX = 20  # each gets a share of the people; with more, a share shows nothing


@dataclass(frozen=True, slots=True)
class Variant:
    """A template under a name of its own. `weight` is its share of the people, relative to the others."""

    name: str
    template: str
    weight: int = 1

    def __str__(self) -> str:
        return f"{self.name}={self.template}:{self.weight}"


def read_variants(texts: Sequence[str]) -> tuple[Variant, ...]:
    """Read variants of the form `name=template` or `name=template:weight`. Raise UsageError for another form,
    and for fewer than two.
    """
    variants = tuple(map(_read, texts))
    if len(variants) == 1 or len(variants) > VARIANTS_MAX:
        raise UsageError(f"{{variant}} is given 2 to {VARIANTS_MAX} times, not {len(variants)}", values={})
    names = [variant.name for variant in variants]
    if len(set(names)) < len(names):
        raise UsageError(
            "two variants have the same name", remedy="give each a name of its own", key="variant"
        )
    return variants


def _read(text: str) -> Variant:
    name, _, rest = text.partition("=")
    template, colon, weight = rest.partition(":")
    is_weight = weight.isascii() and weight.isdigit() and 1 <= int(weight) <= WEIGHT_MAX
    if not (name.strip() and template and (is_weight or not colon)):
        raise UsageError(
            "{variant} {text!r} is not valid",
            remedy=f"write NAME=TEMPLATE or NAME=TEMPLATE:WEIGHT, with a weight from 1 to {WEIGHT_MAX}",
            values={"text": text},
        )
    return Variant(name.strip(), template, int(weight or 1))
