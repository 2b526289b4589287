"""The control plane under `/_emulator/`: for tests and people, no part of the service that is emulated."""
