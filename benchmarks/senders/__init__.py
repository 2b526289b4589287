"""The senders of a benchmark: the engine, and the baselines beside it."""
