"""The sending flow: from a claimed message to its outcome, one role a file."""
