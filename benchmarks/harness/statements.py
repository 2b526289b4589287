"""The named SQL statements of the benchmarks, from `statements.sql` beside this module."""

from importlib.resources import files

from drumbeat.engine.store.queries import named_statements

SQL = named_statements(
    (files("drumbeat.benchmarks.harness") / "statements.sql").read_text("utf-8"), "statements.sql"
)
