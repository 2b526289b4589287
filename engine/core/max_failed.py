"""The limit `--max-failed`: how many failed recipients a campaign may have."""


def exceeds_max_failed(failed: int, recipients: int, max_failed: str | None) -> bool:
    """Whether more recipients failed than `N`, or `N%` of all. None allows any number of failures."""
    if max_failed is None:
        return False
    share = max_failed.endswith("%")
    allowed = float(max_failed.rstrip("%")) * (recipients / 100 if share else 1)
    return failed > allowed
