"""The sending flow: from a claim to a recorded outcome, one file for each role."""
