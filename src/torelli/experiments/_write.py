"""Write what an experiment found: tidy CSV, a page of Markdown, figures as PNG and SVG."""

from __future__ import annotations

import csv
import io
import textwrap
from typing import TYPE_CHECKING, Any

from torelli._provenance import describe
from torelli.experiments._record import read_record

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from torelli.experiments._experiment import Experiment, Rows


def write_rows(experiment: Experiment, rows: Rows, folder: Path) -> None:
    """Write ``NAME.csv``."""
    (folder / f"{experiment.name}.csv").write_text(as_csv(rows), encoding="utf-8")


def write_page(experiment: Experiment, rows: Rows, folder: Path, out: Path) -> None:
    """Write ``README.md`` and the figures of an experiment, whose record lies in `folder`, to `out`."""
    (out / "README.md").write_text(page(experiment, rows, folder), encoding="utf-8")
    draw(experiment, rows, out)


def draw(experiment: Experiment, rows: Rows, folder: Path) -> None:
    """Write the figures as PNG and SVG."""
    import matplotlib as mpl  # noqa: PLC0415  (an extra)

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415  (an extra)

    with plt.rc_context({"svg.hashsalt": experiment.name, "svg.fonttype": "none"}):
        for name, figure in experiment.figures(rows).items():
            figure.savefig(folder / f"{name}.png", dpi=110)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


def page(experiment: Experiment, rows: Rows, folder: Path) -> str:
    """Return the page: what it is, the experiment's own part, and how it was measured."""
    record = read_record(folder)
    sittings = record["sittings"]
    where = f"Section {experiment.section} of the paper. " if experiment.section else ""
    quick = " A quick run: the shape of the result, not the result." if record["quick"] else ""
    quick_option = " --quick" if record["quick"] else ""
    parts = [
        f"# {experiment.title}",
        "",
        f"{where}{experiment.shows}{quick}",
        "",
        experiment.page(rows).strip(),
        "",
        "## How this was measured",
        "",
        f"`torelli reproduce {experiment.name}{quick_option}`, seed {record['seed']}.",
        f"All rows: [`{experiment.name}.csv`]({experiment.name}.csv). Machine and command of each sitting:",
        "[`run.json`](run.json). The last one:",
        "",
        describe(sittings[-1]) if sittings else "not known, since `run.json` was damaged.",
        "",
    ]
    return "\n".join(parts)


def as_csv(rows: Rows) -> str:
    """Return rows as CSV with every column that occurs, in order of first appearance."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    out = io.StringIO()
    writer = csv.DictWriter(out, columns, lineterminator="\n", restval="")
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue()


def markdown_table(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    """Return a Markdown table; the first column is text, the others are aligned as numbers."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    found = [header, rule, *lines]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in found)


def reflow(text: str) -> str:
    """Return Markdown with its paragraphs wrapped anew; tables, pictures and headings stay as they are."""
    paragraphs = text.strip().split("\n\n")
    return "\n\n".join(
        part
        if part.startswith(("|", "!", "#", "-"))
        else textwrap.fill(" ".join(part.split()), 120, break_on_hyphens=False)
        for part in paragraphs
    )
