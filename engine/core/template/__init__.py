"""The rules for templates: what they hold, what fills them, and whether they may be sent."""
