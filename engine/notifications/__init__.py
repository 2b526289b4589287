"""The notifications to people, by webhook and mail, of what happened to campaigns and numbers."""
