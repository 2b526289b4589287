"""The lines that say whose phones a list has: for `audience check`, `create` and `apply`."""

from collections.abc import Iterator, Mapping

_SHOWN_MAX = 12  # countries in a line


def phone_lines(countries: Mapping[str, int], kinds: Mapping[str, int]) -> Iterator[str]:
    """Give a line for the countries of good rows, the most first, and one for the kinds of their phones."""
    if countries:
        shown = list(countries.items())[:_SHOWN_MAX]
        more = sum(list(countries.values())[_SHOWN_MAX:])
        rest = f", others {more:,}" if more else ""
        yield f"countries: {', '.join(f'{country} {count:,}' for country, count in shown)}{rest}"
    if kinds:
        yield f"kinds: {', '.join(f'{kind} {count:,}' for kind, count in kinds.items())}"
