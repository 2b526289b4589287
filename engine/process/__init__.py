"""The basis of a process: settings, logs, identity, memory, descriptors, disk space, embedded Postgres."""
