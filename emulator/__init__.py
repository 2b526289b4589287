"""Emulates the messaging service, for tests, benchmarks and first steps. Imports nothing of the engine."""
