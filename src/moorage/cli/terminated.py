"""What a signal that asks a verb to end becomes. Raised by ``cli.signals``, told by ``cli.app``; stands alone
because ``moorage --help`` loads no event loop."""

from __future__ import annotations

import signal


class Terminated(BaseException):
    """SIGTERM or SIGHUP ended a verb, as KeyboardInterrupt tells of Ctrl-C."""

    def __init__(self, number: signal.Signals) -> None:
        super().__init__(number.name)
        self.number = number
