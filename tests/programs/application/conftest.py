pytest_plugins = ["drumbeat.testing"]
