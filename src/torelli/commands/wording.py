"""What commands say: notes and errors of the library in the words of the command line."""

from __future__ import annotations

import re
import sys
import time
import warnings
from contextlib import contextmanager
from pathlib import Path
from shlex import quote
from threading import Event, Thread
from typing import TYPE_CHECKING, TextIO, TypeVar

from torelli._errors import shortened
from torelli.io.readers import COMMON_OPTIONS, own_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Loaded = TypeVar("Loaded")

_OTHER_OPTIONS = (
    "along", "bridges", "dtype", "features", "folds", "gamma", "groups", "kernel", "lengths", "max_genus",
    "memory", "seed", "source", "step", "tile", "window",
)  # fmt: skip
_KEYWORD = re.compile(r"\b(?P<name>[a-z][a-z_]*)=(?P<value>'[^'\n]*'|\"[^\"\n]*\"|[\w.+-]*\w|\.\.\.|)")
_ASIDE = re.compile(r" \((?:on the command line|in Python): [^()]*\)")
_FOR_PYTHON = " (all in the exception's attribute `faults`)"
_INSIDE_CALL = re.compile(r"\w\([^()]*$")
_QUIET_SECONDS = 2.5


def in_options(message: str) -> str:
    """Return a message with options instead of keywords of Python: ``layer='roads'`` is ``--layer roads``.

    Whole calls, such as ``graph.replace(unit='m')``, stay as they are.
    """
    message = _ASIDE.sub("", message).replace(_FOR_PYTHON, "")
    known = {*COMMON_OPTIONS, *own_options(), *_OTHER_OPTIONS}

    def option(keyword: re.Match[str]) -> str:
        if keyword["name"] not in known or _INSIDE_CALL.search(message, 0, keyword.start()):
            return keyword[0]
        value = keyword["value"].strip("'\"")
        value = {"...": "", "True": "", "None": "none"}.get(value, value)
        if " " in value:
            value = quote(value)  # as the shell needs it
        return f"--{keyword['name'].replace('_', '-')} {value}".rstrip()

    return _KEYWORD.sub(option, message)


def about(name: str, message: str) -> str:
    """Return a message that names its file or set once, as the command line did."""
    short = Path(name).name
    if message.startswith(f"{short}:"):
        return name + message.removeprefix(short)
    return message if short in message else f"{name}: {message}"


class Notes:
    """Notes on standard error about several inputs; one on many of them is printed once, with a count.

    Attributes
    ----------
    inputs
        The inputs that each note is about, without their name.
    """

    def __init__(self) -> None:
        self.inputs: dict[str, list[str]] = {}

    def while_loading(self, name: str, load: Callable[[str], Loaded]) -> Loaded:
        """Return what `load` returns; its warnings are notes, of which only new ones are printed now."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loaded = load(name)
        for message in dict.fromkeys(str(warning.message) for warning in caught):
            said = in_options(message)
            inputs = self.inputs.setdefault(said.removeprefix(f"{Path(name).name}: "), [])
            if not inputs:
                say(f"torelli: note: {about(name, said)}")
            inputs.append(name)
        return loaded

    def finish(self) -> None:
        """Tell how many other inputs a note is about."""
        for note, inputs in self.inputs.items():
            if len(inputs) > 1:
                more = len(inputs) - 1
                others = f"{more:,} other inputs have" if more > 1 else f"{inputs[1]} has"
                say(f"torelli: note: {others} the same note: {shortened(note)}")


def with_notes(name: str, load: Callable[[str], Loaded]) -> Loaded:
    """Return what `load` returns; its warnings are notes on standard error."""
    return Notes().while_loading(name, load)


def say(text: str) -> None:
    """Print on standard error, which is not part of the result."""
    _print(text, sys.stderr)


def tell(text: str) -> None:
    """Print a line of the result at once, also into a pipe."""
    _print(text, sys.stdout)


def _print(text: str, stream: TextIO) -> None:
    print(text, file=stream, flush=True)
    _Last.line = time.monotonic()


class _Last:
    """When a line was last printed."""

    line = time.monotonic()


@contextmanager
def telling_time(what: str) -> Iterator[None]:
    """Print a line such as ``drawing ... 5 s`` on standard error whenever there was none for some seconds."""
    started = time.monotonic()
    finished = Event()

    def report() -> None:
        while not finished.wait(max(_Last.line + _QUIET_SECONDS - time.monotonic(), 0.0)):
            if time.monotonic() >= _Last.line + _QUIET_SECONDS:
                say(f"{what} ... {time.monotonic() - started:.0f} s")

    reporter = Thread(target=report, daemon=True)
    reporter.start()
    try:
        yield
    finally:
        finished.set()
        reporter.join()
