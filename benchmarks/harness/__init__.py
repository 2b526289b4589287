"""The machinery of benchmarks: cores, processes, the temporary Postgres, the emulator, worker processes."""
