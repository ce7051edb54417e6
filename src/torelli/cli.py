"""The command line: ``torelli COMMAND``."""

from __future__ import annotations

import argparse
import os
import sys
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, NoReturn

from torelli._errors import TorelliError, shortened
from torelli._version import __version__
from torelli.commands.wording import in_options

if TYPE_CHECKING:
    from collections.abc import Sequence

_MOST_OF_A_MESSAGE = 2_000
COMMANDS = {
    "demo": "demo",
    "info": "info",
    "patterns": "patterns",
    "classify": "classify",
    "report": "classify",
    "explore": "explore",
    "index": "index",
    "find": "index",
    "features": "stores",
    "kernel": "stores",
    "plan": "stores",
    "urn": "urn",
    "reproduce": "reproduce",
    "warmup": "warmup",
}
"""The module of each command, in the order of the help."""


class _Parser(argparse.ArgumentParser):
    """A parser that suggests the nearest command or option, and shortens long arguments in its messages."""

    def error(self, message: str) -> NoReturn:
        super().error(shortened(message, _MOST_OF_A_MESSAGE))

    def _get_value(self, action: argparse.Action, arg_string: str) -> Any:  # noqa: ANN401  (argparse's own)
        """Return a value; a name in capitals, as tables print kernels, stands for the choice of that name."""
        value = super()._get_value(action, arg_string)
        of_subcommand = action.nargs == argparse.PARSER  # a name of a command, and all of its arguments
        if of_subcommand or action.choices is None or value in action.choices:
            return value
        lower = arg_string.lower()
        return lower if lower in action.choices else value

    def _check_value(self, action: argparse.Action, value: object) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            near = get_close_matches(str(value), map(str, action.choices or ()), n=1)
            if near:
                error.message = f"there is no {shortened(repr(value))}: did you mean {near[0]}?"
            raise

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:  # noqa: ANN401  (argparse's own)
        """Parse, and refuse an option that a command does not have with the nearest one that it has."""
        parsed, rest = super().parse_known_args(args, namespace)
        unknown = next((one.partition("=")[0] for one in rest or () if one.startswith("--")), None)
        if unknown is not None:
            near = get_close_matches(unknown, self._option_string_actions, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"see {self.prog} --help"
            self.error(f"there is no option {shortened(unknown)}: {remedy}")
        return parsed, rest


class _PrintCompletion(argparse.Action):
    """Prints completions for a shell, and exits. The script is fixed: completing starts no Python."""

    def __call__(
        self, parser: argparse.ArgumentParser, _namespace: object, values: object, _option: object = None
    ) -> NoReturn:
        try:
            import shtab
        except ImportError:
            parser.exit(2, "torelli: completions need shtab: pip install 'torelli[completion]'\n")
        print(shtab.complete(parser, shell=str(values)))
        parser.exit(0)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with every command."""
    parser = _Parser(
        prog="torelli",
        description="Compare metric graphs (streets, vessels, grids, rivers) by the tropical Torelli map.",
    )
    parser.add_argument("--version", action="version", version=f"torelli {__version__}")
    parser.add_argument(
        "--print-completion",
        action=_PrintCompletion,
        choices=("bash", "zsh", "tcsh"),
        metavar="SHELL",
        help="print completions for a shell (bash, zsh or tcsh), and exit",
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in dict.fromkeys(COMMANDS.values()):
        import_module(f"torelli.commands.{module}").add_parser(subparsers)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command, by default that of the command line; return its exit code."""
    return run(build_parser(), arguments)


def run(parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> int:
    """Run a command; errors that the package raises on purpose are one message, not a traceback."""
    parsed = parser.parse_args(arguments)
    # what results say of how they were made
    parsed.argv = list(sys.argv[1:] if arguments is None else arguments)
    try:
        code: int = parsed.run(parsed)
    except BrokenPipeError:
        # the program that reads our output, such as `head`, has ended
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (TorelliError, OSError) as error:
        # errors of this package are short, or a list of faults; those of the system may quote long names
        ours = isinstance(error, TorelliError)
        text = in_options(str(error)) if ours else shortened(str(error), _MOST_OF_A_MESSAGE)
        print(f"torelli: {text}", file=sys.stderr)
        return 2
    except MemoryError as error:
        why = str(error) or "an allocation failed"
        print(f"torelli: out of memory ({why}); take fewer graphs", file=sys.stderr)
        return 2
    return code
