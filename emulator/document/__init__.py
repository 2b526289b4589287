"""The emulator's own OpenAPI 3.1 document."""
