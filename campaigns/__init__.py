"""The choice of what is sent to whom: audiences, planning, the life of a campaign, its results, and the
command line.
"""
