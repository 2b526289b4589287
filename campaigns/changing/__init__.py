"""Campaigns that are made from stored ones: retries, clones, edits, deletions."""
