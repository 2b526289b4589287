"""The ledger of every message that the service accepted: the columns, the ids, and the questions that they
answer.
"""
