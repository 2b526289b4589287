"""The words of results in English, for commands, JSON and pages. `console/texts` has the other languages."""
