"""How to send: claims, paces and attempts messages, and records the outcome of each."""
