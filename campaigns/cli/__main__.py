"""`python -m drumbeat.campaigns.cli`: the command, for processes that Drumbeat starts itself."""

from drumbeat.campaigns.cli.main import run

run()
