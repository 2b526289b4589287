"""The choice of what is sent to whom: audiences, plans, the life of a campaign, results, commands."""
