"""The options of a campaign as members of a request: the options of a manifest, under the same keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from drumbeat.campaigns.options.option import Option
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.campaigns.options.values import checked

# The audience is the uploaded file, and no request may name files of this machine.
NOT_OF_A_REQUEST = frozenset(
    {
        "audience",
        "audience_sql",
        "audience_database",
        "audience_campaign",
        "state",
        "code",
        "rejects",
        "header_file",
    }
)
# The choice `header` → the option that it means. There is also the uploaded file.
HEADER_SOURCES = {"column": "header_column", "link": "header_link", "id": "header_media_id"}


class CampaignOptions(BaseModel):
    """The base of `CreateRequest`, which has a member for each option."""

    model_config = ConfigDict(extra="forbid", use_enum_values=True)

    name: str
    dry_run: bool = False

    def values(self) -> dict[str, Any]:
        """Return the options that are given, by the keys of a manifest."""
        given = self.model_dump(exclude_unset=True, exclude={"dry_run"})
        return {key: _texts(value) for key, value in given.items() if value is not None}


def _texts(value: Any) -> Any:
    """Return pairs as the command line writes them."""
    return [f"{name}={text}" for name, text in value.items()] if isinstance(value, dict) else value


def _field(option: Option) -> tuple[Any, Any]:
    kind = dict[str, str] | option.type if option.is_pairs else option.type
    default = ... if option.is_required else option.default
    return kind, Field(default, description=option.help())


CreateRequest: type[CampaignOptions] = create_model(
    "CreateRequest",
    __base__=CampaignOptions,
    __doc__="The options of a campaign, by the keys of a manifest.",
    **{key: _field(option) for key, option in OPTIONS.items() if key not in NOT_OF_A_REQUEST},  # type: ignore[call-overload]  # fields by name
)


def request_of(choices: Mapping[str, Any], **more: Any) -> CampaignOptions:
    """Return a request with the choices of a person in the pages. Choices that are no option are left out:
    the template that variants are compared with, and the sources of the header's media that are not chosen.
    """
    chosen = {**choices, **more}
    unused = {key for kind, key in HEADER_SOURCES.items() if kind != chosen.get("header", kind)}
    members = CreateRequest.model_fields.keys() - unused
    known = {key: value for key, value in chosen.items() if key in members and value is not None}
    if known.get("variant"):
        known.pop("template", None)
    return CreateRequest(**known)


def spec_of_values(values: dict[str, Any]) -> CampaignSpec:
    """Return the campaign that these values describe. ConfigurationError names a key that is wrong."""
    return CampaignSpec(**checked(values, "the request"))
