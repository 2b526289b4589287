"""The emulator of the messaging service, for tests, benchmarks and first steps. It imports nothing of the
engine.
"""
