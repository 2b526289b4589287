"""The client of the service. `Service` is usable by itself; the sending flow uses `Transport`.

    from drumbeat.engine.api import Service, Text

    async with Service("https://service.example", token) as service:
        sent = await service.messages.send("106540352242922", "14155550101", Text("Hello"))

docs/reference/client.md describes all of it. A name is imported when it is first used: most commands need no
client and must not pay for the import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from drumbeat.engine.api.call_budget import LocalCallBudget as LocalCallBudget
    from drumbeat.engine.api.endpoints.analytics import Granularity as Granularity
    from drumbeat.engine.api.endpoints.numbers import Profile as Profile
    from drumbeat.engine.api.endpoints.templates import NewTemplate as NewTemplate
    from drumbeat.engine.api.service import Service as Service
    from drumbeat.engine.api.service_error import ServiceError as ServiceError
    from drumbeat.engine.core.message_types import *  # noqa: F403

_MODULES = {
    "LocalCallBudget": "drumbeat.engine.api.call_budget",
    "Granularity": "drumbeat.engine.api.endpoints.analytics",
    "NewTemplate": "drumbeat.engine.api.endpoints.templates",
    "Profile": "drumbeat.engine.api.endpoints.numbers",
    "Service": "drumbeat.engine.api.service",
    "ServiceError": "drumbeat.engine.api.service_error",
}
_MESSAGE_TYPES = "drumbeat.engine.core.message_types"


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(import_module(_MODULES.get(name, _MESSAGE_TYPES)), name)
