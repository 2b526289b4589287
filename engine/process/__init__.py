"""The basis of a process: settings, logs, identity, memory, file descriptors, disk space,
embedded Postgres.
"""
