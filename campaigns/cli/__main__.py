"""`python -m campaigns.cli`: the command, for processes that Drumbeat starts itself."""

from campaigns.cli.main import run

run()
