"""How to send: claims, paces and attempts messages, and records what became of each."""
