"""The messaging service itself, for tests, benchmarks and first days. Imports nothing of the engine."""
