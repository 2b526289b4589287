"""The templates that an account starts with: those of a shop, in the states that occur."""

from collections.abc import Callable
from typing import Any

from drumbeat.emulator.templates.template import Template

_URL = "https://lantern.example"
_PICTURE = {"type": "HEADER", "format": "IMAGE", "example": {"header_handle": [f"{_URL}/plant.jpg"]}}
_PLANT = {
    "body_text_named_params": [
        {"param_name": "first_name", "example": "Ana"},
        {"param_name": "plant", "example": "lavender"},
        {"param_name": "day", "example": "Friday"},
    ]
}


def _plant_buttons(see: str, refuse: str) -> dict[str, Any]:
    link = {"type": "URL", "text": see, "url": _URL + "/p/{{1}}", "example": [f"{_URL}/p/lavender"]}
    return {"type": "BUTTONS", "buttons": [link, {"type": "QUICK_REPLY", "text": refuse}]}


# name, language, category, status, format of the parameters, components
_SAMPLES: list[tuple[str, str, str, str, str, list[dict[str, Any]]]] = [
    (
        "order_shipped", "en_US", "UTILITY", "APPROVED", "POSITIONAL",
        [
            {
                "type": "BODY",
                "text": "Hi {{1}}, your order {{2}} is on its way.",
                "example": {"body_text": [["Ana", "LH-20394"]]},
            },
            {"type": "FOOTER", "text": "Lantern Home Goods"},
        ],
    ),
    (
        "order_shipped", "pt_BR", "UTILITY", "APPROVED", "POSITIONAL",
        [
            {
                "type": "BODY",
                "text": "Olá {{1}}, seu pedido {{2}} está a caminho.",
                "example": {"body_text": [["Ana", "LH-20394"]]},
            },
            {"type": "FOOTER", "text": "Lantern Home Goods"},
        ],
    ),
    (
        "spring_offer", "en_US", "MARKETING", "APPROVED", "POSITIONAL",
        [
            {"type": "HEADER", "format": "TEXT", "text": "Spring at Lantern"},
            {
                "type": "BODY",
                "text": "Hi {{1}}, {{2}} is yours on everything for the garden until Sunday.",
                "example": {"body_text": [["Ana", "20 % off"]]},
            },
            {"type": "FOOTER", "text": "Reply STOP to opt out"},
            {
                "type": "BUTTONS",
                "buttons": [
                    {"type": "QUICK_REPLY", "text": "Show me"},
                    {"type": "URL", "text": "Open the shop", "url": f"{_URL}/garden"},
                ],
            },
        ],
    ),
    (
        "appointment_reminder", "en_US", "UTILITY", "APPROVED", "NAMED",
        [
            {
                "type": "BODY",
                "text": "Hello {{first_name}}, we expect you on {{day}} at {{time}}.",
                "example": {
                    "body_text_named_params": [
                        {"param_name": "first_name", "example": "Ana"},
                        {"param_name": "day", "example": "Monday"},
                        {"param_name": "time", "example": "10:30"},
                    ]
                },
            }
        ],
    ),
    (
        "catalogue", "en_US", "MARKETING", "APPROVED", "POSITIONAL",
        [
            {
                "type": "HEADER",
                "format": "IMAGE",
                "example": {"header_handle": [f"{_URL}/catalogue.jpg"]},
            },
            {
                "type": "BODY",
                "text": "{{1}}, the new catalogue is here.",
                "example": {"body_text": [["Ana"]]},
            },
            {
                "type": "BUTTONS",
                "buttons": [
                    {
                        "type": "URL",
                        "text": "Open",
                        "url": _URL + "/c/{{1}}",
                        "example": [f"{_URL}/c/2f9"],
                    }
                ],
            },
        ],
    ),
    (
        "plant_ready", "en_US", "MARKETING", "APPROVED", "NAMED",
        [
            _PICTURE,
            {
                "type": "BODY",
                "text": "Hi {{first_name}}, your {{plant}} is here. We keep it for you until {{day}}.",
                "example": _PLANT,
            },
            _plant_buttons("See it", "Not now"),
        ],
    ),
    (
        "plant_ready", "de", "MARKETING", "APPROVED", "NAMED",
        [
            _PICTURE,
            {
                "type": "BODY",
                "text": "{{plant}} wartet bis {{day}} auf Sie, {{first_name}}.",
                "example": _PLANT,
            },
            _plant_buttons("Ansehen", "Nicht jetzt"),
        ],
    ),
    (
        "welcome", "en", "UTILITY", "APPROVED", "POSITIONAL",
        [{"type": "BODY", "text": "Thank you for writing to us. We answer within the hour."}],
    ),
    (
        "winter_sale", "en_US", "MARKETING", "PAUSED", "POSITIONAL",
        [
            {
                "type": "BODY",
                "text": "Hi {{1}}, the winter sale ends {{2}}.",
                "example": {"body_text": [["Ana", "tonight"]]},
            }
        ],
    ),
    (
        "loyalty_launch", "en_US", "MARKETING", "PENDING", "POSITIONAL",
        [
            {
                "type": "BODY",
                "text": "Hi {{1}}, you now collect points: {{2}} are waiting.",
                "example": {"body_text": [["Ana", "120"]]},
            }
        ],
    ),
    (
        "flash_prize", "en_US", "MARKETING", "REJECTED", "POSITIONAL",
        [{"type": "BODY", "text": "{{1}} you have won!!!"}],
    ),
]  # fmt: skip


def sample_templates(new_id: Callable[[], str]) -> list[Template]:
    """Return the samples, each with an id of its own."""
    return [
        Template(
            id=new_id(),
            name=name,
            language=language,
            category=category,
            components=components,
            status=status,
            parameter_format=parameter_format,
        )
        for name, language, category, status, parameter_format, components in _SAMPLES
    ]
