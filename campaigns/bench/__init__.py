"""Measuring the sender against the emulator: what it sends a second, at what cost, and beside what.

Law: nothing is sent before the service has shown the emulator's control plane, and only a database that the
bench made itself is ever emptied.
"""
