"""The control plane under `/_emulator/`, for tests and people. The real service has no such paths."""
