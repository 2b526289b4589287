"""The named SQL statements of the benchmarks, from `statements.sql` beside this module."""

from importlib.resources import files

from engine.store.queries import named_statements

SQL = named_statements((files("benchmarks.harness") / "statements.sql").read_text("utf-8"), "statements.sql")
