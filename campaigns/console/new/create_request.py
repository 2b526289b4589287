"""The options of a campaign as members of a request: the options of a manifest, under the same keys."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, create_model

from drumbeat.campaigns.options.campaign_spec import campaign_spec
from drumbeat.campaigns.options.listing import CampaignOption, options_of
from drumbeat.campaigns.options.spec import CampaignSpec
from drumbeat.campaigns.options.values import checked
from drumbeat.engine.errors import DrumbeatError

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
_OPTION = re.compile(r"--([a-z][a-z-]*)")


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


def _field(option: CampaignOption) -> tuple[Any, Any]:
    kind = dict[str, str] | option.type if option.is_pairs else option.type
    default = ... if option.is_required else option.default
    return kind, Field(default, description=in_words_of_keys(option.help))


def in_words_of_keys(text: str) -> str:
    """Return a text about options of the command line, as one about members of a request."""
    return _OPTION.sub(lambda found: found[1].replace("-", "_"), text)


def blamed_on_keys(error: DrumbeatError) -> DrumbeatError:
    """Return the same error in the words of a request."""
    error.what, error.remedy = in_words_of_keys(error.what), in_words_of_keys(error.remedy)
    return error


CreateRequest: type[CampaignOptions] = create_model(
    "CreateRequest",
    __base__=CampaignOptions,
    __doc__="The options of a campaign, by the keys of a manifest.",
    **{
        option.key: _field(option)
        for option in options_of(campaign_spec)
        if option.key not in NOT_OF_A_REQUEST
    },  # type: ignore[call-overload]  # fields by name
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
    return campaign_spec(**checked(values, campaign_spec, "the request"))
