"""The output of an experiment: a CSV file, a Markdown page, figures, and the list of all results."""

from __future__ import annotations

import csv
import io
import textwrap
from typing import TYPE_CHECKING, Any

from torelli._errors import DataWarning, FormatError, warn
from torelli._files import write_whole
from torelli._provenance import describe
from torelli.experiments._experiment import blaming, read_record, stored_rows
from torelli.plot import MARKERS, PALETTE

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from torelli.experiments._experiment import Experiment, Rows


def write_rows(experiment: Experiment, rows: Rows, folder: Path) -> None:
    """Write ``NAME.csv``."""
    (folder / f"{experiment.name}.csv").write_text(as_csv(rows), encoding="utf-8")


def write_page(experiment: Experiment, rows: Rows, folder: Path, out: Path) -> None:
    """Write ``README.md`` and the figures to `out`; ``run.json`` is read from `folder`."""
    (out / "README.md").write_text(page(experiment, rows, folder), encoding="utf-8")
    draw(experiment, rows, out)


def draw(experiment: Experiment, rows: Rows, folder: Path) -> None:
    """Write the figures as PNG and SVG."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with plt.rc_context({"svg.hashsalt": experiment.name, "svg.fonttype": "none"}):
        for name, figure in experiment.figures(rows).items():
            figure.savefig(folder / f"{name}.png", dpi=110)
            figure.savefig(folder / f"{name}.svg", metadata={"Date": None})
            plt.close(figure)


def page(experiment: Experiment, rows: Rows, folder: Path) -> str:
    """Return the page: title, the experiment's own part, and how it was measured."""
    record = read_record(folder)
    sittings = record["sittings"]
    where = f"Section {experiment.section} of the paper. " if experiment.section else ""
    quick = " This is a quick run: it shows only the shape of the result." if record["quick"] else ""
    quick_option = " --quick" if record["quick"] else ""
    parts = [
        f"# {experiment.title}",
        "",
        reflow(f"{where}{experiment.shows}{quick}"),
        "",
        reflow(experiment.page(rows)),
        "",
        "## How this was measured",
        "",
        f"`torelli reproduce {experiment.name}{quick_option}`, seed {record['seed']}.",
        f"All rows are in [`{experiment.name}.csv`]({experiment.name}.csv). [`run.json`](run.json) records",
        "the machine and the command of each run. The latest run:",
        "",
        describe(sittings[-1]) if sittings else "unknown, because `run.json` was damaged.",
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
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in [header, rule, *lines])


def reflow(text: str) -> str:
    """Return Markdown with paragraphs and list items wrapped; tables, pictures and headings stay as is."""
    parts = []
    for part in text.strip().split("\n\n"):
        if part.startswith(("|", "!", "#")):
            parts.append(part)
        elif part.startswith("- "):
            parts.append("\n".join(_wrapped(f"- {item}", "  ") for item in part[2:].split("\n- ")))
        else:
            parts.append(_wrapped(part))
    return "\n\n".join(parts)


def _wrapped(text: str, indent: str = "") -> str:
    words = " ".join(text.split())
    return textwrap.fill(words, 100, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False)


def panels(n_rows: int, n_columns: int, *, size: tuple[float, float] = (4.2, 3.6)) -> tuple[Figure, Any]:
    """Return a figure and its axes, row by row."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(size[0] * n_columns, size[1] * n_rows), layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def curve(
    ax: Axes,
    x: Sequence[float],
    y: Sequence[float],
    index: int,
    label: str,
    *,
    spread: Sequence[float] | None = None,
    linestyle: str = "-",
) -> None:
    """Draw curve number `index` in its own colour, with its own marker for readers who do not see colours."""
    ax.errorbar(
        x,
        y,
        yerr=spread,
        color=PALETTE[index % len(PALETTE)],
        marker=MARKERS[index % len(MARKERS)],
        markersize=4,
        linewidth=1.2,
        linestyle=linestyle,
        capsize=2,
        label=label,
    )


def index(experiments: Sequence[Experiment], root: Path) -> str:
    """Return the page of all results in a folder, in the order of the experiments."""
    lines = [
        "# Results",
        "",
        "`torelli reproduce NAME` writes each folder: a page, a CSV file, figures and `run.json`.",
        "",
    ]
    lines += ["| experiment | what it shows | outcome |", "| --- | --- | --- |"]
    for experiment in experiments:
        for folder in (root / experiment.name, root / f"{experiment.name}-quick"):
            # a first run that was interrupted has cells but no page yet
            if not (folder / "README.md").exists():
                continue
            outcome = _outcome(experiment, folder)
            where = f"Section {experiment.section}. " if experiment.section else ""
            lines.append(
                f"| [{folder.name}]({folder.name}/README.md) | {where}{experiment.shows} | {outcome} |"
            )
    return "\n".join([*lines, ""])


def write_index(experiments: Sequence[Experiment], root: Path) -> None:
    """Write the page of all results."""
    text = index(experiments, root)
    write_whole(root / "README.md", lambda part: part.write_text(text, encoding="utf-8"))


def _outcome(experiment: Experiment, folder: Path) -> str:
    """Return the outcome of an experiment in one line, with a warning if its cells cannot be read."""
    try:
        with blaming(folder / "cells.jsonl"):
            return " ".join(experiment.outcome(stored_rows(experiment, folder)).split()) or "see the page"
    except FormatError as error:
        warn(str(error), DataWarning)
        return "its cells cannot be read"
