"""The protocol of claiming, sending and recording as a small state machine, over all interleavings."""
