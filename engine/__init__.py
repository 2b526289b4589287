"""The engine: it claims, paces and attempts messages, and records the outcome of each."""
