"""The client of the service. `Service` is usable by itself; the sending flow uses `Transport`.

    from engine.api import Service, Text

    async with Service("https://service.example", token) as service:
        sent = await service.messages.send("106540352242922", "14155550101", Text("Hello"))

docs/reference/client.md describes all of it. A name is imported when it is first used: most commands need no
client and must not pay for the import.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from engine.api.call_budget import LocalCallBudget as LocalCallBudget
    from engine.api.endpoints.analytics import Granularity as Granularity
    from engine.api.endpoints.numbers import Profile as Profile
    from engine.api.endpoints.templates import NewTemplate as NewTemplate
    from engine.api.service import Service as Service
    from engine.api.service_error import ServiceError as ServiceError
    from engine.core.message_types import *  # noqa: F403

_MODULES = {
    "LocalCallBudget": "engine.api.call_budget",
    "Granularity": "engine.api.endpoints.analytics",
    "NewTemplate": "engine.api.endpoints.templates",
    "Profile": "engine.api.endpoints.numbers",
    "Service": "engine.api.service",
    "ServiceError": "engine.api.service_error",
}
_MESSAGE_TYPES = "engine.core.message_types"


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(name)
    return getattr(import_module(_MODULES.get(name, _MESSAGE_TYPES)), name)
