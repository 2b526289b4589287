"""The campaign that is asked for."""

from __future__ import annotations

from dataclasses import dataclass

from drumbeat.campaigns.options.guards import Guards
from drumbeat.campaigns.options.identity import Identity
from drumbeat.campaigns.options.spec import CampaignSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The options of a campaign, the guards that were read from them, and the identity that the options have
    with their audience.
    """

    spec: CampaignSpec
    guards: Guards
    identity: Identity
