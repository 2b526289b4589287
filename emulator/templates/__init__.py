"""Message templates: what they hold, how they are reviewed, how a send fills them."""
