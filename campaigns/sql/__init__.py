"""The statements that only campaigns and their faces need, in `.sql` files. The engine's are in its store."""

from drumbeat.engine.store.queries import load_statements


def statements(group: str) -> dict[str, str]:
    """Return the statements of a file in `queries`, by name. An unknown name raises KeyError."""
    return load_statements("drumbeat.campaigns", group)
