"""The results of a campaign: status, report and export."""
