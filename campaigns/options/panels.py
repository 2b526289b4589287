"""The panels of `--help`: they divide the many options of a campaign, so that a person finds one."""

import inspect
from collections.abc import Iterable
from copy import copy
from typing import Annotated, get_args

PANELS = {  # by the name of the parameter, in the order of the help
    "Audience": (
        "audience",
        "audience_sql",
        "audience_database",
        "audience_campaign",
        "state",
        "code",
        "file_format",
        "sheet",
        "phone_column",
        "region",
        "as_mobile",
        "column_map",
        "default",
        "exclude",
        "max_recipients",
        "strict",
        "rejects",
    ),
    "Message": (
        "template",
        "language",
        "language_column",
        "strict_language",
        "param",
        "header_column",
        "header_file",
        "header_link",
        "header_media_id",
        "header_filename",
        "variant",
        "experiment",
    ),
    "Sending hours": ("start_at", "expires_at", "window", "days", "time_zone", "quiet_hours"),
    "Guards": ("cap", "on_unknown", "max_failed", "pause_at_failed"),
    "Canary": ("canary", "canary_max_failed", "canary_minutes", "canary_approve"),
    "Order": ("priority", "share"),
    "Campaign": ("number", "external_id"),
}
_PANEL_OF = {parameter: panel for panel, parameters in PANELS.items() for parameter in parameters}
_PLACES = {parameter: place for place, parameter in enumerate(_PANEL_OF)}


def in_panels(parameters: Iterable[inspect.Parameter]) -> list[inspect.Parameter]:
    """Return the parameters in the order of the panels, each with its own. Arguments come first."""
    return sorted(map(_in_panel, parameters), key=lambda parameter: _PLACES.get(parameter.name, -1))


def _in_panel(parameter: inspect.Parameter) -> inspect.Parameter:
    if (panel := _PANEL_OF.get(parameter.name)) is None:
        return parameter
    kind, shared = get_args(parameter.annotation)
    info = copy(shared)  # commands that are not grouped share the same option
    info.rich_help_panel = panel
    return parameter.replace(annotation=Annotated[kind, info])
