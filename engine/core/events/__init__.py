"""The events of the service: their records, whom they concern, and whether they are ours."""
