"""What became of a campaign: status, report, export."""
