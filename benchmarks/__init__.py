"""The benchmarks: the speed of Drumbeat, measured against the emulator and beside baselines.

Each question has one file: `python -m drumbeat.benchmarks.throughput`. `drumbeat bench` runs the first six in
turn (`suite.py`) and writes a report.

    throughput pacing planning receiving applying scaling    what `drumbeat bench` measures
    start memory tls tables emulator profiling chaos         only as scripts
    senders/    the engine, the baselines beside it, and how long their replies take
    harness/    cores, processes, the temporary Postgres, the emulator, worker processes
    report/     a report as JSON, text and page, and the comparison of two

Laws: nothing is sent before the address has passed the check that it is an emulator; only a database that a
benchmark created is ever cleared.
"""
