"""The views that people look at in the console, beside a large campaign: its data, its views, its streams, a
tab.
"""
