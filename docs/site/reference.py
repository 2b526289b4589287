"""The writer of the pages that are made from code.

python -m docs.site.reference            fails if a page is not up to date
python -m docs.site.reference --write    writes the pages
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

from typer import Context
from typer.main import get_group

from docs.site.log_events import log_events_page
from docs.site.markdown import MADE_FROM_CODE, cell
from docs.site.metrics import metrics_page
from docs.site.programs import programs_page
from docs.site.settings import settings_page
from drumbeat.campaigns.cli.main import app
from drumbeat.campaigns.options.option import Option
from drumbeat.campaigns.options.table import OPTIONS
from drumbeat.campaigns.planning.change_rules import CHANGEABLE
from drumbeat.engine.core.error_codes import ERROR_CODES, HTTP_STATUSES, ErrorCode
from drumbeat.engine.core.outcome import Rejected, Scope, Throttled
from drumbeat.engine.core.states import CampaignState

DOCS = Path(__file__).parents[1]

VALUES = {
    "int": "NUMBER",
    "float": "NUMBER",
    "Path": "PATH",
}  # of options that name their value by its type only

FORMS = {bool: "true or false", int: "number", Path: "path"}  # of keys; the others are texts

COMMANDS = """# Options

Every command with its arguments and options, as `drumbeat COMMAND --help` shows them.
[Commands](commands.md) has one line for each command.
"""

MANIFEST = """# Manifest

A manifest describes a campaign in a TOML file, for `drumbeat campaign apply FILE`. Its keys are the options
of [`campaign create`](options.md#campaign-create), with `_` for `-`, and `name`.
[A how-to](../how-to/campaigns-from-cron-and-code.md) shows its use.

```toml
name = "spring"
template = "order_shipped"
language = "en_US"
number = ["106540352242922"]
audience = "customers.csv"                  # relative to this file
param = ["first_name", "order"]
expires_at = 2030-03-02T20:00:00-03:00      # a time needs an offset
[default]                                   # first_name=friend on the command line
first_name = "friend"
```

* A *list* is written `["a", "b"]`, also if it has one value. A list of *pairs* may be a table.
* A path is relative to the manifest. The audience `"-"` is standard input.
* An unknown key, a missing one and a wrong value are refused with 78, the file, the key and the cure.
* An option on the command line replaces the key: `--name`, `--audience` and so on.

The same manifest again changes nothing. If it differs from the stored campaign, each difference is shown with
its old and its new value. If all of them *may change* in the campaign's present state, they are applied; the
rest of a draft is planned anew, and of any other campaign it is refused with 78. Then nothing is changed.
"""

ERRORS = """# Error codes

The codes with which the service refuses a message, in a reply or in a later status. *Drumbeat* says what
Drumbeat does; [reason codes](../operate/reason-codes.md) say what ends a pause.

In a reply, a code that pauses an account, a number or a campaign gives the recipient back: the message is
sent after the resume. In a status, the same code pauses the same, but the service had accepted the message,
so its recipient has failed; `drumbeat campaign retry NAME --failed` sends to those people again. A code that
slows a number down, or is tried again later, does so in a reply only.
"""


def pages() -> dict[str, str]:
    """Return the path of each page in docs/ → its Markdown."""
    options = COMMANDS + "".join(_command(*found) for found in commands(get_group(app)))
    made = {
        "reference/options.md": options,
        "reference/manifest.md": MANIFEST + _manifest(),
        "reference/error-codes.md": ERRORS + _error_codes(),
        "reference/python.md": programs_page(),
        "reference/settings.md": settings_page(),
        "reference/metrics.md": metrics_page(),
        "operate/log-events.md": log_events_page(),
    }
    return {path: MADE_FROM_CODE + text for path, text in made.items()}


def commands(group: Any, path: tuple[str, ...] = ("drumbeat",)) -> Iterator[tuple[str, Any]]:
    """Yield every command that does something, with the words that call it, in the order of `--help`."""
    if not hasattr(group, "list_commands"):
        yield " ".join(path), group
        return
    if group.invoke_without_command:
        yield " ".join(path), group
    context = Context(group)
    for name in group.list_commands(context):
        yield from commands(group.get_command(context, name), (*path, name))


def _command(words: str, command: Any) -> str:
    arguments = [each for each in command.params if each.param_type_name == "argument"]
    options = [each for each in command.params if each.param_type_name == "option" and not each.hidden]
    usage = " ".join([words, *(_argument(each) for each in arguments), *(["[OPTIONS]"] if options else [])])
    text = f"\n## {words.removeprefix('drumbeat ')}\n\n    {usage}\n\n{_prose(command.help)}\n"
    if options:
        text += "\n| option | meaning |\n|---|---|\n" + "".join(_option(each) for each in options)
    return text


def _argument(argument: Any) -> str:
    name = argument.metavar or argument.name.upper()
    return f"{name if argument.required else f'[{name}]'}{'...' if argument.nargs == -1 else ''}"


def _option(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    metavar = option.metavar or VALUES.get(option.bare_type(), "TEXT")
    value = "" if option.is_flag else f" `{cell(metavar)}`"
    required = " Required." if option.required else ""
    return f"| {names}{value} | {cell(option.help)}{required}{_default(option)} |\n"


def _default(option: Any) -> str:
    if (
        option.is_flag
        or not option.show_default
        or option.default in (None, "", (), [])
        or callable(option.default)
    ):
        return ""
    return f" Default: `{option.default}`."


def _manifest() -> str:
    rows = [
        f"| `{option.key}` | {_form(option)} | {cell(option.help())}{' Required.' * option.is_required} |"
        f" {_may_change(option)} |"
        for option in OPTIONS.values()
    ]
    return "\n| key | value | meaning | may change |\n|---|---|---|---|\n" + "\n".join(rows) + "\n"


def _form(option: Option) -> str:
    if option.is_pairs:
        return "list of pairs"
    if option.is_list:
        return "list"
    kinds = {option.type, *get_args(option.type)}
    return next((word for kind, word in FORMS.items() if kind in kinds), "text")


def _may_change(option: Option) -> str:
    if option.key == "name":
        return "never"
    states = CHANGEABLE.get(option.key)
    if states is None:
        return "in a draft"
    return "until it ends" if CampaignState.RUNNING in states else "before it runs"


def _error_codes() -> str:
    codes: dict[ErrorCode, list[int]] = {}
    for code, row in sorted(ERROR_CODES.items()):
        codes.setdefault(row, []).append(code)
    rows = [(in_words(found), row) for row, found in codes.items()]
    rows += [(f"HTTP {status}, without a code", row) for status, row in sorted(HTTP_STATUSES.items())]
    lines = [
        f"| {code} | {cell(row.meaning)} | {_reaction(row)} | {cell(row.remedy)} |" for code, row in rows
    ]
    return "\n| code | meaning | Drumbeat | what you can do |\n|---|---|---|---|\n" + "\n".join(lines) + "\n"


def in_words(codes: list[int]) -> str:
    """Return sorted codes as text. Of a run only the first and the last one stand there: [3, 200, 201, 202] →
    3, 200 to 202.
    """
    runs: list[list[int]] = []
    for code in codes:
        if runs and code == runs[-1][-1] + 1:
            runs[-1].append(code)
        else:
            runs.append([code])
    return ", ".join(f"{run[0]} to {run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in runs)


def _reaction(row: ErrorCode) -> str:
    if row.opt_out:
        return "fails the recipient, and suppresses the phone"
    if row.outcome is Throttled:
        return {Scope.PAIR: "waits with this recipient", Scope.NUMBER: "slows the number down"}.get(
            row.scope, "slows all numbers down"
        )
    if row.outcome is not Rejected:
        return "tries again later"
    if row.systematic:
        stopped = {Scope.NUMBER: "stop the number", Scope.ACCOUNT: "pause every campaign"}
        return f"fails the recipient; 20 in a row {stopped.get(row.shared_by, 'pause the campaign')}"
    pauses = {Scope.TEMPLATE: "campaign", Scope.NUMBER: "number", Scope.ACCOUNT: "account"}
    return f"pauses the {pauses[row.scope]}" if row.scope in pauses else "fails the recipient"


def _prose(text: str | None) -> str:
    return re.sub(r"\n{3,}", "\n\n", (text or "").replace("\b", "").strip())


def main() -> None:
    stale = {name: text for name, text in pages().items() if _differs(DOCS / name, text)}
    if "--write" in sys.argv:
        for name, text in stale.items():
            (DOCS / name).write_text(text, "utf-8")
    elif stale:
        sys.exit(f"not up to date: {', '.join(stale)}; run python -m docs.site.reference --write")


def _differs(path: Path, text: str) -> bool:
    return not path.exists() or path.read_text("utf-8") != text


if __name__ == "__main__":
    main()
