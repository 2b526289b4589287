"""What sends messages in a benchmark: the engine, and the baselines beside it."""
