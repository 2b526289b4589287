"""The words of results in English, which commands, JSON and pages use. The other languages have them in `console/texts`."""
