"""``torelli reproduce``: the experiments of the paper, each with one command."""

from __future__ import annotations

import argparse
import csv
import shlex
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from torelli._errors import InvalidOptionError, MissingExtraError, quoted, unknown_option
from torelli.commands.wording import with_notes

if TYPE_CHECKING:
    from torelli.experiments import Experiment

_MANY_MINUTES = 100  # from here on hours are easier to read


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "reproduce",
        help="run the paper's experiments and compare with its numbers",
        description=(
            "Runs experiments of the paper. Each writes a folder RESULTS/NAME: a tidy CSV, a page\n"
            "(README.md) that compares our figures with the paper's, plots as PNG and SVG, and run.json\n"
            "with versions, machine, seed and command. RESULTS/README.md lists the outcomes. Without a\n"
            "name, the command lists the experiments. A run can be stopped at any time (Ctrl-C); the\n"
            "same command then continues it."
        ),
        epilog=(
            "Examples:\n"
            "  torelli reproduce                      list the experiments and their times\n"
            "  torelli reproduce truncation --quick   a small version, in under two minutes\n"
            "  torelli reproduce all --workers 2      all experiments, two cells at a time\n"
            "  torelli reproduce benchmark --only method=WL --seconds 900   some cells, with more time"
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments, or 'all'")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="run a small version, in under two minutes (folder RESULTS/NAME-quick)",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("results"),
        metavar="RESULTS",
        help="folder for the results (default: results)",
    )
    parser.add_argument("--seed", type=int, default=0, help="random seed (default 0)")
    parser.add_argument(
        "--fresh", action="store_true", help="measure stored cells again; with --only, just the selected ones"
    )
    parser.add_argument(
        "--only", nargs="+", action="extend", default=[], metavar="PART=VALUE[,VALUE]",
        help="run only these cells, such as method=WL,SP dataset=MUTAG; other results stay as they are",
    )  # fmt: skip
    parser.add_argument(
        "--seconds", type=float, default=300.0, metavar="S",
        help="limit of processor time for a baseline kernel on one data set (default 300); cells that a "
        "lower limit stopped run again",
    )  # fmt: skip
    parser.add_argument(
        "--gigabytes",
        type=float,
        default=8.0,
        metavar="GB",
        help="memory limit for a baseline kernel (default 8)",
    )
    parser.add_argument(
        "--workers", type=int, default=1, metavar="N",
        help="cells to run in parallel, if each has its own process (default 1, for undisturbed times)",
    )  # fmt: skip
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from torelli import experiments

    if not arguments.names:
        print(listing([experiments.get_experiment(name) for name in experiments.EXPERIMENTS]))
        return 0
    check(arguments, experiments.EXPERIMENTS)
    only = chosen(arguments.only)
    settings = experiments.Settings(arguments.quick, arguments.seed, arguments.seconds, arguments.gigabytes)
    known = [experiments.get_experiment(name) for name in experiments.EXPERIMENTS]
    for name in experiments.EXPERIMENTS if "all" in arguments.names else arguments.names:
        folder = arguments.out / (f"{name}-quick" if arguments.quick else name)
        try:
            experiments.run(
                experiments.get_experiment(name),
                folder,
                settings,
                fresh=arguments.fresh,
                only=only,
                workers=arguments.workers,
                command=shlex.join(["torelli", *map(_portable, arguments.argv)]),
            )
        except KeyboardInterrupt:
            print(f"\n{name}: finished cells are stored; the same command continues the run", file=sys.stderr)
            raise
        with_notes("list of results", lambda _: experiments.write_index(known, arguments.out))
        page = folder / "README.md"
        print(f"{name}: {page if page.exists() else folder / f'{name}.csv'}")
    return 0


def _portable(argument: str) -> str:
    """Return an argument as results store it: a folder relative to the current one, or its name alone."""
    option, equals, value = argument.rpartition("=")
    path = Path(value)
    if not path.is_absolute():
        return argument
    here = Path.cwd()
    return f"{option}{equals}{path.relative_to(here) if path.is_relative_to(here) else path.name}"


def check(arguments: argparse.Namespace, possible: tuple[str, ...]) -> None:
    """Raise an error for options that cannot work, before anything is computed."""
    for name in arguments.names:
        if name not in {*possible, "all"}:
            raise unknown_option("experiment", name, [*possible, "all"])
    if arguments.workers < 1 or arguments.seconds <= 0 or arguments.gigabytes <= 0:
        raise InvalidOptionError("--workers, --seconds and --gigabytes must be positive")
    if arguments.seed < 0:
        raise InvalidOptionError(f"--seed is {arguments.seed}: give 0 or more")
    if find_spec("matplotlib") is None:
        raise MissingExtraError("the figures of experiments need matplotlib: pip install 'torelli[plot]'")


def chosen(texts: list[str]) -> dict[str, list[str]]:
    """Return the values for each part of a cell's key, from texts such as ``method=WL,SP``.

    A value that contains a comma is quoted, as in a CSV file.
    """
    only: dict[str, list[str]] = {}
    for text in texts:
        part, _, values = text.partition("=")
        if not (part and values):
            raise InvalidOptionError(f"--only is {quoted(text)}: give PART=VALUE, such as method=WL")
        only.setdefault(part, []).extend(next(csv.reader([values])))
    return only


def listing(experiments: list[Experiment]) -> str:
    """Return a list of experiments: section of the paper, expected time, and what each shows."""
    lines = []
    for experiment in experiments:
        section = f"section {experiment.section}" if experiment.section else "not in the paper"
        lines.append(
            f"{experiment.name:<14}{experiment.title} ({section}; about {_time(experiment.minutes)})"
        )
        lines.append(f"{'':<14}{experiment.shows}")
    lines.append("\nRun one: torelli reproduce NAME [--quick]")
    return "\n".join(lines)


def _time(minutes: float) -> str:
    return f"{minutes:g} min" if minutes < _MANY_MINUTES else f"{minutes / 60:.0f} h"
