"""The demo: a made-up audience, and the check of its campaign against the emulator's ledger."""
