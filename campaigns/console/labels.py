"""What an error calls by an option of the command line, called as the fields of the pages are."""

import re
from collections.abc import Mapping

OPTION = re.compile(r"--([a-z][a-z-]*)")


def with_labels(text: str, labels: Mapping[str, str]) -> str:
    """The text with the labels of fields in place of options. `labels`: the texts of the page's language."""

    def label(found: re.Match[str]) -> str:
        key = found[1].replace("-", "_")
        names = (labels.get(name) for name in (f"sending.{key}", f"message.option_{key}", f"list.{key}"))
        name = next(filter(None, names), None)
        return found[0] if name is None else f"“{name}”"

    return OPTION.sub(label, text)
