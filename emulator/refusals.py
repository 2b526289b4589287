"""The reply to a request that breaks a rule."""

from collections import Counter
from collections.abc import Iterator

from drumbeat.emulator.config import EmulatorConfig
from drumbeat.emulator.errors import Refused, error_body
from drumbeat.emulator.wire.request_reply import Reply, render


class Refusals:
    """The maker of the replies. It counts them in `counts` by error code. `traces` numbers them."""

    def __init__(self, config: EmulatorConfig, counts: Counter[int], traces: Iterator[int]) -> None:
        self._product = config.product
        self._seed = config.seed
        self._counts = counts
        self._traces = traces

    def reply(self, refused: Refused) -> Reply:
        """Return the reply to a broken rule."""
        self._counts[refused.code] += 1
        trace = f"E{self._seed:X}{next(self._traces):010X}"
        return Reply(refused.status, error_body(refused, self._product, trace), headers=refused.headers)

    def render(self, refused: Refused) -> bytes:
        """Return the same reply as bytes."""
        return render(self.reply(refused))
