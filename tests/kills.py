"""Kill a process before each step that it takes on disk, by a real ``kill -9``.

Meant for scripts of their own, which have one thread: they fork.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from itertools import count

_STEPS = {"open", "os.chmod", "os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.truncate"}


def killed_at_every_step(act, folder):
    """Yield True for each step in a folder before which `act` was killed, then False once it has ended."""
    for step in count():
        killed = _was_killed(act, str(folder), step)
        yield killed
        if not killed:
            return


def _was_killed(act, folder, left):
    child = os.fork()
    if child:
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in {0, -signal.SIGKILL}, code
        return code != 0

    def hook(event, arguments):
        nonlocal left
        if event in _STEPS and folder in repr(arguments) and not (event == "open" and arguments[1] == "rb"):
            if not left:
                os.kill(os.getpid(), signal.SIGKILL)
            left -= 1

    sys.addaudithook(hook)
    try:
        act()
    except BaseException:  # noqa: BLE001  (the child ends here, whatever happens)
        traceback.print_exc()
        os._exit(1)
    os._exit(0)
