"""The demo: a generated audience, and the comparison of its campaign with the emulator's ledger."""
