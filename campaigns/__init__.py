"""What to send to whom: audiences, planning, the life of a campaign, its results, and the command line."""
