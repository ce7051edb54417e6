"""The start of the command line. It imports next to nothing, so that Ctrl-C works from the first moment."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress

_INTERRUPTED = 130  # what shells report for a program that Ctrl-C has ended


def main() -> int:
    """Run the command line; return its exit code."""
    # unless the caller ignores the signal, as `nohup` does, and shells do for background jobs
    answered = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    try:
        if answered:
            # an exception is not enough: libraries whose import it interrupts raise another one instead
            signal.signal(signal.SIGINT, _leave)
        from torelli.cli import build_parser, run

        parser = build_parser()
        if answered:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        code = run(parser)
    except KeyboardInterrupt:
        if answered:
            signal.signal(signal.SIGINT, _leave)  # a second one does not wait for threads to end
        _say()
        exec("")  # noqa: S102  (Python ends by a signal if the last `exec` was interrupted, as in an import)
        return _INTERRUPTED
    gc.freeze()  # the end of the process would search all objects for garbage, up to a second
    return code


def _leave(*_: object) -> None:
    """End the process at once."""
    _say()
    os._exit(_INTERRUPTED)


def _say() -> None:
    with suppress(OSError):
        os.write(2, b"torelli: interrupted\n")


if __name__ == "__main__":
    sys.exit(main())
