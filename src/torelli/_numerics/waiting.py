"""The message that users see while functions are being compiled."""

from __future__ import annotations

import gc
import logging
import time
from contextlib import contextmanager, suppress
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

MESSAGE = (
    "torelli: compiling functions for this machine; they are kept on disk for the next time, and "
    "`torelli warmup` compiles all of them in advance"
)


class Waiting:
    """Says once that functions are being compiled, after `patience` seconds of compilation.

    The message goes to the logger ``torelli``. Where logging is not configured, Python writes it to
    standard error, in a terminal as in a notebook.
    """

    def __init__(self, patience: float = 2.0) -> None:
        self.left = patience
        self.said = False

    @contextmanager
    def compiling(self) -> Iterator[None]:
        """Count the time inside; garbage collection, which would take a twentieth of it, is off."""
        collects, started = gc.isenabled(), time.monotonic()
        timer = Timer(max(self.left, 0.0), self._say)
        timer.daemon = True
        if not self.said:
            with suppress(RuntimeError):  # a limit on memory or processes may forbid another thread
                timer.start()
        gc.disable()
        try:
            yield
        finally:
            if collects:
                gc.enable()
            timer.cancel()
            self.left -= time.monotonic() - started

    def _say(self) -> None:
        if not self.said:
            self.said = True
            logging.getLogger("torelli").warning(MESSAGE)


waiting = Waiting()
"""The instance for this process."""
