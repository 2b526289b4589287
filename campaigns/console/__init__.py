"""The console: the web page that marketing works in, and the HTTP interface `/api/v1` for programs.

It calls the same services as the command line. No rule about campaigns lives in it.
"""
