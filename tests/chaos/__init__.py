"""Faults: races and lost answers in the store, and whole processes under kills, freezes and a bad network."""
