"""The document itself."""

import re
from typing import Any

from drumbeat.emulator.config import EmulatorConfig
from drumbeat.emulator.document.operations import Operation, control, document_operation, interface
from drumbeat.emulator.document.schemas import schemas


def operations(config: EmulatorConfig) -> dict[tuple[str, str], Operation]:
    """Return every operation, by method and path."""
    return {**interface(f"/{config.version}", config.product), **control()}


def build_document(config: EmulatorConfig, base_url: str) -> dict[str, Any]:
    """Return the document for this configuration, in OpenAPI 3.1."""
    paths: dict[str, dict[str, Any]] = {}
    for (method, path), operation in operations(config).items():
        described = document_operation(
            operation, re.findall(r"\{(\w+)\}", path), secured=not path.startswith("/_emulator/")
        )
        paths.setdefault(path, {})[method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Business messaging service (emulated)",
            "version": config.version,
            "description": "The service's interface, and the emulator's control plane under /_emulator/.",
        },
        "servers": [{"url": base_url}],
        "paths": paths,
        "components": {
            "schemas": schemas(config.product),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
