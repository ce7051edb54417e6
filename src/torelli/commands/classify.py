"""``torelli classify``: accuracies of graphs in files; ``torelli report``: a result as one HTML file."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torelli._errors import FormatError, listed, shortened
from torelli._files import require_folder
from torelli.commands._inputs import (
    add_along_argument,
    add_bridges_argument,
    add_groups_argument,
    add_input_arguments,
    add_kernel_argument,
    at_least,
    load_inputs,
)
from torelli.commands.wording import say, with_notes

if TYPE_CHECKING:
    from torelli._types import Subparsers
    from torelli.classification import Classification

_FOLDS = 10
_NAMES = 16  # characters for the name of a classifier
_FIELDS_SHOWN = 30

_CLASSIFY = """\
Classify graphs by kernels on metric graphs.

Every graph is predicted once, by a support vector machine (SVM) trained on the other folds. The table gives
the accuracy over all graphs with its 95 % Wilson interval, and the standard deviation over folds. The last
two rows are baselines without a kernel: the genus alone, and the most frequent class.

Folds are blocked if the input has the field 'group', or with --groups: graphs of one group, such as windows
of one part of a city, are predicted together and never from each other. Otherwise folds are random, which
gives accuracies that are too high where graphs overlap or resemble each other within a group.
"""

_CLASSIFY_EPILOG = """\
examples:
  torelli classify --tu MUTAG
  torelli classify cells.jsonl.gz --label city --report cells.html
  torelli classify streets/ --labels streets/index.csv --label pattern --groups city --out results/streets
  torelli classify zoo/*.graphml --label Type --groups Network --length 1
  torelli classify --tu PROTEINS --kernel tte tts --C 0.1 1 10 --gamma median 0.01

The class of a graph is its label in a TU set, the key --label in JSON lines, the attribute --label of the
graph in GraphML and GML, or the column --label in the table --labels. --out stores the result as a folder
(predictions, scores, kernel matrices, graphs), from which `torelli report FOLDER` writes the same page as
--report.
"""

_REPORT = """\
Write the report of a result: one HTML file with everything in it, which needs no network connection.

For a result of `torelli classify --out FOLDER`, the report has accuracies with intervals, confusion
matrices, kernel PCA, kernel matrices and their eigenvalues, timings, drawings of the graphs with their
basis cycles coloured, the most typical and the worst classified graphs, and the command to run it again.

For a result of `torelli reproduce NAME`, it has the text, the figures, all rows and how they were measured.
"""
_REPORT_EPILOG = """\
examples:
  torelli classify --tu MUTAG --out results/mutag
  torelli report results/mutag
  torelli report results/mutag --out mutag.html
  torelli report results/truncation
"""


def add_parser(subparsers: Subparsers) -> None:
    """Declare both commands."""
    _add_classify(subparsers)
    _add_report(subparsers)


def _add_classify(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "classify",
        help="classify graphs by cross-validation, with a report",
        description=_CLASSIFY,
        epilog=_CLASSIFY_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_input_arguments(parser)
    add_kernel_argument(parser)
    add_bridges_argument(parser)
    add_along_argument(parser)
    parser.add_argument(
        "--folds",
        type=at_least(2),
        metavar="N",
        help=f"number of folds (default {_FOLDS}, or the number of groups if there are fewer)",
    )
    add_groups_argument(parser)
    parser.add_argument(
        "--C",
        type=positive,
        nargs="+",
        default=[1.0],
        metavar="C",
        help="SVM penalty C (default 1); if several are given, inner cross-validation picks one",
    )
    parser.add_argument(
        "--gamma",
        type=gamma,
        nargs="+",
        default=["median"],
        metavar="G",
        help="kernel parameter gamma: a number, or 'median' (default), which makes the median kernel value "
        "of the training graphs 1/2; if several are given, inner cross-validation picks one",
    )
    parser.add_argument(
        "--seed",
        type=at_least(0),
        default=0,
        help="seed of the folds and of random lengths (default 0)",
    )
    parser.add_argument("--out", type=Path, metavar="FOLDER", help="store the result in this folder")
    parser.add_argument("--report", type=Path, metavar="FILE.html", help="write a report as one HTML file")
    parser.set_defaults(run=_classify)


def positive(text: str) -> float:
    """Return a positive number."""
    value = float(text)
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text} is not a positive number")
    return value


def gamma(text: str) -> float | str:
    """Return a gamma: 'median' or a positive number."""
    return text if text == "median" else positive(text)


def _classify(arguments: argparse.Namespace) -> int:
    from torelli.classification import classify

    if arguments.report is not None:
        from torelli.webpage import require_plotly

        require_plotly()
    if arguments.out is not None:
        require_folder(arguments.out)
    data = load_inputs(arguments, seed=arguments.seed)
    if data.labels is None:
        known = listed(dict.fromkeys(name for fields in data.fields for name in fields), most=_FIELDS_SHOWN)
        fields = f"; fields of the graphs are {known}" if known else ""
        raise FormatError(
            f"{shortened(data.title)}: the graphs have no labels; give a table with --labels FILE.csv, or "
            f"name the field that holds the class with --label{fields}"
        )
    labels = data.labels
    n_groups = _FOLDS if data.groups is None else len({*data.groups})
    folds = arguments.folds or max(2, min(_FOLDS, n_groups))
    outcome = with_notes(
        data.title,
        lambda _: classify(
            data.graphs,
            labels,
            names=data.names,
            metrics=arguments.kernel,
            folds=folds,
            groups=data.groups,
            bridges=arguments.bridges,
            along=arguments.along,
            C=arguments.C,
            gamma=arguments.gamma,
            seed=arguments.seed,
            n_jobs=-1,
            verbose=True,
        ),
    )
    about = about_run(arguments, data.title)
    size = f"{len(data.graphs):,} graphs, {len(outcome.classes):,} classes"
    print(f"{size}, {outcome.folds}" + (f" ({data.groups_key})" if data.groups_key else ""))
    print(score_table(outcome))
    finish(outcome, about, arguments.out, arguments.report)
    return 0


def about_run(arguments: argparse.Namespace, title: str) -> dict[str, Any]:
    """Return the title, command, seed and machine of a result, which are stored with it."""
    from torelli._provenance import machine

    return {
        "title": title,
        "command": shlex.join(["torelli", *arguments.argv]),
        "seed": arguments.seed,
        **machine(),
    }


def finish(outcome: Classification, about: dict[str, Any], folder: Path | None, report: Path | None) -> None:
    """Write the folder and the report of a result if they were asked for, and print their paths."""
    if folder is not None:
        from torelli.report.results import save

        save(outcome, folder, about)
        say(f"torelli: result in {folder}")
    if report is not None:
        from torelli.report.classification import classification_page
        from torelli.webpage import write

        write(report, classification_page(outcome, about, verbose=True))
        print(f"report: {report}")


def score_table(outcome: Classification) -> str:
    """Return the accuracies as a table."""
    labels = [outcome.label(score.name) for score in outcome.scores]
    width = max(_NAMES, 2 + max(map(len, labels)))
    lines = [f"\n{'kernel':<{width}}{'accuracy':>9}{'95 % interval':>17}{'std of folds':>14}{'seconds':>10}"]
    for name, score in zip(labels, outcome.scores, strict=True):
        low, high = outcome.interval(score)
        accuracy = 100 * float(outcome.right(score).mean())
        seconds = score.seconds_distances + score.seconds_svm
        interval = f"{100 * low:.1f} to {100 * high:.1f}"
        spread = 100 * float(score.fold_accuracies.std())
        lines.append(f"{name:<{width}}{accuracy:>9.1f}{interval:>17}{spread:>14.1f}{seconds:>10.2f}")
    return "\n".join(lines)


def _add_report(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "report",
        help="write a result as one HTML file",
        description=_REPORT,
        epilog=_REPORT_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder of a result")
    parser.add_argument(
        "--out", type=Path, metavar="FILE.html", help="file to write (default: report.html in the folder)"
    )
    parser.set_defaults(run=_report)


def _report(arguments: argparse.Namespace) -> int:
    from torelli.report import report_page
    from torelli.webpage import write

    out = arguments.out or arguments.folder / "report.html"
    write(out, report_page(arguments.folder))
    print(f"report: {out}")
    return 0
