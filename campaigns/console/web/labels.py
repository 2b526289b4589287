"""The labels of fields on the pages, in place of options of the command line in the text of an error."""

import re
from collections.abc import Mapping

OPTION = re.compile(r"--([a-z][a-z-]*)")


def with_labels(text: str, labels: Mapping[str, str]) -> str:
    """Return the text with the labels of fields in place of options. `labels`: the texts of the page's
    language.
    """

    def label(found: re.Match[str]) -> str:
        key = found[1].replace("-", "_")
        names = (labels.get(name) for name in (f"sending.{key}", f"message.option_{key}", f"list.{key}"))
        name = next(filter(None, names), None)
        return found[0] if name is None else f"“{name}”"

    return OPTION.sub(label, text)
