"""Tells people by webhook and mail what happened to campaigns and numbers."""
