"""What a process needs to run: settings, logs, identity, memory, files, disk space, the embedded Postgres."""
