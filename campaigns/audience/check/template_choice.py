"""The choice of a template for each row: by the language that a column names, and by the person's variant."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from drumbeat.campaigns.audience.check.language_words import find_meant_language
from drumbeat.engine.core.phone_aliases import canonical_phone
from drumbeat.engine.core.template.variants import variant_chooser

FALLBACK = 0  # index of the language for rows that name no language of the campaign
_UNMATCHED = -1
VALUES_REMEMBERED = 4_096  # a column of languages has few values; another column must not fill the memory
VALUE_CHARACTERS_MAX = 40  # so much is kept of a value that names no language
VALUES_COUNTED_MAX = 100  # more values are counted together
OTHER_VALUES = "other values"


@dataclass(frozen=True, slots=True)
class TemplateChoice:
    """The templates of a campaign: for each variant, one in each of `languages`, whose first is the fallback.

    `column` names the language of a row; without it, there is one language. A person gets a variant by
    `experiment` and `weights`; see `variant_chooser`. `meant` has the languages of values that a person gave
    one.
    """

    languages: tuple[str, ...]
    column: str | None = None
    experiment: str = ""
    weights: tuple[int, ...] = (1,)
    meant: tuple[tuple[str, str], ...] = ()


class TemplateChooser:
    """A chooser by the column of languages with this index. With None, every row gets the fallback."""

    def __init__(self, choice: TemplateChoice, language_index: int | None) -> None:
        self._languages = choice.languages
        self._meant = {value_key(value): language for value, language in choice.meant}
        self.language_index = language_index
        self._language = lru_cache(VALUES_REMEMBERED)(self._find)
        self._variant = (
            None if len(choice.weights) == 1 else variant_chooser(choice.experiment, choice.weights)
        )

    def choose(
        self, cells: Sequence[str] | None, phones: Sequence[int], unmatched: Counter[str]
    ) -> list[int]:
        """Return the index of each row's template. `cells` are those of the column of languages. `unmatched`
        counts those that name no language of the template.
        """
        indexes = [FALLBACK] * len(phones) if cells is None else self._by_language(cells, unmatched)
        if self._variant is None:
            return indexes
        of_variant = len(self._languages)
        return [
            of_variant * self._variant(canonical_phone(phone)) + index
            for phone, index in zip(phones, indexes, strict=True)
        ]

    def _by_language(self, cells: Sequence[str], unmatched: Counter[str]) -> list[int]:
        indexes = list(map(self._language, cells))
        if _UNMATCHED in indexes:
            for at, index in enumerate(indexes):
                if index == _UNMATCHED:
                    indexes[at] = FALLBACK
                    add_bounded(unmatched, {cells[at].strip()[:VALUE_CHARACTERS_MAX]: 1})
        return indexes

    def _find(self, written: str) -> int:
        found = self._meant.get(value_key(written)) or find_meant_language(written, self._languages)
        return _UNMATCHED if found is None else self._languages.index(found)


def value_key(written: str) -> str:
    """Return what counts of a value that a person gives a language: neither case nor spaces at its ends."""
    return written.strip().casefold()


def add_bounded(total: Counter[str], more: dict[str, int]) -> None:
    """Add counts of values; what is new once there are VALUES_COUNTED_MAX is counted as OTHER_VALUES."""
    for value, count in more.items():
        is_kept = value in total or len(total) < VALUES_COUNTED_MAX
        total[value if is_kept else OTHER_VALUES] += count
