"""The placeholders in the texts of a template: `{{1}}` or `{{first_name}}`."""

import re

PLACEHOLDER = re.compile(r"\{\{\s*(\w+)\s*\}\}")


def placeholders(text: str) -> tuple[str, ...]:
    """Return the placeholders of a text, each once: `Hi {{1}}, {{2}}` gives `("1", "2")`."""
    return tuple(dict.fromkeys(PLACEHOLDER.findall(text)))
