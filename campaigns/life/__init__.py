"""The life of a planned campaign: start, run, pause, resume, cancel and prune it."""
