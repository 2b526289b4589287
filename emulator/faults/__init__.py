"""Faults: what can go wrong, each a small object that strikes by seed."""
