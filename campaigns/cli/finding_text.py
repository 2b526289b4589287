"""The lines that warn of what a list's good rows hold: for `audience check`, `create` and `apply`."""

from collections.abc import Iterable, Iterator

from drumbeat.campaigns.command_text import flag
from drumbeat.campaigns.finding import ListFinding, finding_text
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.core.sanitise import sanitise


def finding_lines(findings: Iterable[ListFinding]) -> Iterator[str]:
    """Give a line for each finding. `findings` are as `Finding.as_json` gives them."""
    for finding in findings:
        places = [f'column "{finding["column"]}"'] if finding["column"] else []
        if finding["lines"]:
            more = ", …" if finding["count"] > len(finding["lines"]) else ""
            places.append(f"line {', '.join(map(str, finding['lines']))}{more}")
        example = f": {finding['example']!r}" if finding["example"] else ""
        where = f" ({'; '.join(places)}{example})" if places else ""
        if not finding["count"]:  # it is about the column as a whole
            yield sanitise(f"warning: {places[0]}: {finding['text']}")
            continue
        count = pluralise(finding["count"], "cell" if finding["column"] else "row")
        yield sanitise(f"warning: {count}{where}: {finding_text(finding['code'], flag)}")
