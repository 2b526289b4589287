collect_ignore = ["application"]  # run as the application runs them
