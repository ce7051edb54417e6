"""Ctrl-C, at whatever moment it comes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from importlib.metadata import entry_points

import pytest

# what Python runs at its start: an import hook that presses Ctrl-C when a module is about to be imported
HOOK = """
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == os.environ["INTERRUPT_AT"]:
            {press}

sys.meta_path.insert(0, Finder())
"""
PRESS = "os.kill(os.getpid(), signal.SIGINT)"
START = {
    "module": ["-m", "torelli"],
    "script": ["-c", "import sys; from torelli.__main__ import main; sys.exit(main())"],
}
MODULES = (
    "argparse",
    "numpy",
    "torelli.cli",
    "torelli.io.read",
    "torelli.commands.demo",
)


COMMANDS = {"torelli.report": ["report"], "sklearn": ["classify"]}
"""Commands that import a module once they run."""


@pytest.fixture
def torelli(tmp_path):
    """Return a function that starts the command line and presses Ctrl-C at the import of a module."""

    def start(module, *arguments, way="module", press=PRESS, **options):
        (tmp_path / "sitecustomize.py").write_text(HOOK.format(press=press))
        paths = [str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "INTERRUPT_AT": module}
        command = [sys.executable, *START[way], *arguments]
        return subprocess.run(  # noqa: S603
            command, capture_output=True, text=True, check=False, env=environment, **options
        )

    return start


@pytest.mark.parametrize("module", MODULES)
def test_an_interrupt_while_modules_are_imported_is_quiet(torelli, module):
    """Ctrl-C in the first seconds ends with exit code 130 and a line, whichever import it hits."""
    run = torelli(module, "--version")
    assert (run.returncode, run.stdout, run.stderr) == (130, "", "torelli: interrupted\n")


@pytest.mark.parametrize("press", [PRESS, "raise KeyboardInterrupt"])
def test_the_installed_command_is_as_quiet(torelli, press):
    """The script that `pip` makes imports nothing heavy before interrupts are answered."""
    run = torelli("numpy", "--version", way="script", press=press)
    assert (run.returncode, run.stderr) == (130, "torelli: interrupted\n")


@pytest.mark.parametrize(
    ("module", "press"),
    [("torelli.report", PRESS), ("torelli.report", 'exec("raise KeyboardInterrupt")'), ("sklearn", PRESS)],
)
def test_an_interrupt_of_a_command_is_quiet(torelli, tmp_path, module, press):
    """Ctrl-C once a command has begun, also while it imports, ends with exit code 130 and a line, too."""
    run = torelli(module, *COMMANDS[module], str(tmp_path), press=press)
    assert (run.returncode, run.stderr) == (130, "torelli: interrupted\n")


def test_an_ignored_interrupt_stays_ignored(torelli):
    """A command that a shell started to ignore Ctrl-C runs to its end."""
    run = torelli("numpy", "--version", preexec_fn=partial(signal.signal, signal.SIGINT, signal.SIG_IGN))
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.skipif(
    "TORELLI_TEST_WHEEL" not in os.environ, reason="set by `make test`, which installs the wheel"
)
def test_the_command_starts_where_interrupts_are_answered():
    """The installed script and ``python -m torelli`` are one."""
    (script,) = entry_points(group="console_scripts", name="torelli")
    assert script.value == "torelli.__main__:main"
