"""The texts of options that name a column, or a fixed text, or a link."""

import re


def is_literal(param: str) -> bool:
    return param.startswith("=")


LINK = re.compile(r"https://[^\s/?#@]+(?:[/?#]\S*)?", re.IGNORECASE)  # the service downloads by HTTPS only


def is_link(cell: str) -> bool:
    return LINK.fullmatch(cell) is not None
