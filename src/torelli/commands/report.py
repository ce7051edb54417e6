"""``torelli report``: a result as one HTML file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torelli._types import Subparsers

_DESCRIPTION = """\
Write the report of a result: one HTML file with everything in it, which needs no network connection.

For a result of `torelli classify --out FOLDER`, the report has accuracies with intervals, confusion
matrices, kernel PCA, kernel matrices and their eigenvalues, timings, drawings of the graphs with their
basis cycles coloured, the most typical and the worst classified graphs, and the command to run it again.

For a result of `torelli reproduce NAME`, it has the text, the figures, all rows and how they were measured.
"""

_EPILOG = """\
examples:
  torelli classify --tu MUTAG --out results/mutag
  torelli report results/mutag
  torelli report results/mutag --out mutag.html
  torelli report results/truncation
"""


def add_parser(subparsers: Subparsers) -> None:
    """Declare the command."""
    parser = subparsers.add_parser(
        "report",
        help="write a result as one HTML file",
        description=_DESCRIPTION,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER", help="folder of a result")
    parser.add_argument(
        "--out", type=Path, metavar="FILE.html", help="file to write (default: report.html in the folder)"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command."""
    from torelli.report import report_page
    from torelli.webpage import write

    out = arguments.out or arguments.folder / "report.html"
    write(out, report_page(arguments.folder))
    print(f"report: {out}")
    return 0
