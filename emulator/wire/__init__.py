"""The HTTP of the emulator on top of `http_server`: known heads, decoded requests, replies, forms, routes."""
