"""The page of metrics, from the collectors of processes that have done nothing yet.

Name, type, labels and meaning are those that `/metrics` shows.
"""

from types import SimpleNamespace
from typing import Any

from prometheus_client.registry import Collector

from docs.site.markdown import cell, table
from drumbeat.campaigns.console.web.open_streams import OpenStreams
from drumbeat.campaigns.console.web.request_metrics import RequestMetrics
from drumbeat.emulator.config import EmulatorConfig
from drumbeat.emulator.messaging_service import MessagingService
from drumbeat.emulator.metrics import ServiceMetrics
from drumbeat.engine.sending.metrics import SenderMetrics
from drumbeat.engine.store.metrics import DatabaseMetrics
from drumbeat.engine.store.overview import Overview
from drumbeat.engine.store.statement_times import StatementTimes
from drumbeat.engine.webhooks.metrics import Metrics

PROSE = """# Metrics

Workers, the receiver, the console and the emulator serve metrics in the Prometheus text format. Every
metric but those of the emulator has the label `installation`, from the [setting](settings.md) of that name,
which is `drumbeat` by default: give each installation that one Prometheus scrapes a name of its own.

"""

ADDRESSES = (
    (
        "`drumbeat worker`",
        "`127.0.0.1:9090`",
        "`--metrics-port`, `--metrics-host`, or the [settings](settings.md); `--no-metrics` serves none",
    ),
    (
        "`drumbeat worker --processes 3`",
        "9090, 9091 and 9092: a port for each process",
        "the same; the first port is named",
    ),
    ("`drumbeat campaign run`", "none", "`--metrics-port`, `--metrics-host`"),
    ("`drumbeat webhooks serve`", "`127.0.0.1:8080`, beside the callback", "`--port`, `--host`"),
    (
        "`drumbeat console serve`",
        "`127.0.0.1:8083`, not beside its pages",
        "`--metrics-port`, `--metrics-host`; `--no-metrics` serves none",
    ),
    ("`drumbeat emulator serve`", "`127.0.0.1:8081`", "`--port`, `--host`"),
)

ABOUT = """
`/metrics` names numbers by their phone number ID, and campaigns by their name. It holds no data of recipients
and no secrets. Still, keep it inside your network: the paths need no password.

If another process has the port of a worker or console, it works without metrics, logs `metrics_not_served`,
and tries again every 5 s. Prometheus itself listens on 9090 by default. Give one of the two another port on
the same machine.

## Health

Workers, the receiver and the console also answer these paths, in JSON:

* `GET /livez`: 200 while the process answers
* `GET /readyz`: 200 with `{"ready": true, "reasons": []}`, or 503 and in `reasons` a `code` and a `detail`
  for each reason

| code | the process is not ready because |
|---|---|
| `starting` | a worker has not taken its numbers yet |
| `database_away` | the database does not answer |
| `results_not_stored` | a worker cannot store outcomes |
| `disk_full` | the embedded database's disk is short of space |

A service that is away does not make a worker unready: another worker would not reach it either.
"""

INSTALLATION = """
The rest describes the whole installation. Each of them reads it from the database, at most once in
5 s and only if it is scraped. So several processes show the same value: take `max`, never `sum`. While the
database does not answer, these metrics are missing.

"""

CLOSE = """
## Every process

`process_cpu_seconds_total`, `process_resident_memory_bytes`, `process_open_fds` and the other standard
metrics of a process, on Linux.
"""

_UP_TO_HERE = 2  # of the database, about the process that is scraped; the rest is about the installation


def metrics_page() -> str:
    database = _rows(_database())
    return (
        PROSE
        + table(("process", "address by default", "how to change it"), ADDRESSES)
        + ABOUT
        + "\n## Worker\n\nAlso of `drumbeat campaign run`. Counters begin at 0 when the process starts.\n\n"
        + _table(_rows(_sender()))
        + "\n## Receiver\n\n"
        + _table(_rows(Metrics()))
        + "\n## Console\n\n"
        + _table([*_rows(RequestMetrics()), *_rows(OpenStreams())])
        + "\n## Database\n\nOf each worker, receiver and console:\n\n"
        + _table(database[:_UP_TO_HERE])
        + INSTALLATION
        + _table(database[_UP_TO_HERE:])
        + "\n## Emulator\n\n"
        + _table(_rows(ServiceMetrics(MessagingService(EmulatorConfig()))))
        + CLOSE
    )


def _table(rows: list[tuple[str, ...]]) -> str:
    return table(("name", "type", "labels", "meaning"), rows)


def _rows(collector: Any) -> list[tuple[str, ...]]:
    return [
        (
            f"`{family.name}{'_total' if family.type == 'counter' else ''}`",
            family.type,
            ", ".join(f"`{label}`" for label in family._labelnames),
            cell(family.documentation),
        )
        for family in collector.collect()
    ]


def _sender() -> Collector:
    """Return the collector of a process that owns no number."""
    nothing: Any = SimpleNamespace(
        results_writer=SimpleNamespace(
            attempt_statistics=SimpleNamespace(outcomes={}), pending=0, oldest_s=0.0
        ),
        breaker=SimpleNamespace(tripped=False),
        disk=None,
    )
    return SenderMetrics(nothing, {}, nothing)


def _database() -> Collector:
    inbox: Any = {"waiting": 0, "oldest_s": 0.0, "unmatched": 0}
    reader: Any = SimpleNamespace(latest=Overview([], [], [], inbox, {}))
    return DatabaseMetrics(StatementTimes(), reader, lambda: True)
