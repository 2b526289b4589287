"""What runs a process: settings, logs, identity, memory, file descriptors, disk space, embedded Postgres."""
