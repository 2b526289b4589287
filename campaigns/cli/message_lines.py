"""The lines that show the first messages of a list as their readers will see them."""

from collections.abc import Iterator, Sequence

from drumbeat.campaigns.planning.staged.first_messages import FirstMessage
from drumbeat.campaigns.pluralise import pluralise
from drumbeat.engine.core.sanitise import sanitise
from drumbeat.engine.core.template.rendering import text_lines


def message_lines(messages: Sequence[FirstMessage]) -> Iterator[str]:
    """Give the messages line by line, each below the row of its recipient."""
    if messages:
        yield f"the first {pluralise(len(messages), 'message')}, as they will be read:"
    for each in messages:
        yield f"  row {each.row}, +{each.phone}, {each.template.language}:"
        yield from (f"    {sanitise(line)}" for line in text_lines(each.message))
