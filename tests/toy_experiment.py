"""A toy experiment, and what a run of it leaves in a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from torelli.experiments import Cell, Experiment


def toy(measured, *, stop_at=None, **options):
    """Return an experiment that squares numbers, notes what it measures, and may be interrupted."""

    def measure(key, settings):
        if key["number"] == stop_at:
            raise KeyboardInterrupt
        measured.append(key["number"])
        rng = np.random.default_rng([settings.seed, key["number"]])
        return [{"square": key["number"] ** 2, "noise": float(rng.random())}]

    def figures(rows):
        figure = Figure()
        figure.subplots().plot([row["square"] for row in rows])
        return {"squares": figure}

    return Experiment(
        "toy",
        "Squares",
        "0.1",
        "That squares grow.",
        1,
        lambda settings: [Cell({"number": i}, cost=i + 1) for i in range(3 if settings.quick else 6)],
        measure,
        lambda rows: f"The last is {rows[-1]['square']}.\n\n![squares](squares.png)",
        figures,
        **options,
    )


class Picture(Figure):
    """A figure that is written at once."""

    def savefig(self, path, **_):
        """Write something."""
        Path(path).write_bytes(b"a picture")


def quick(measured):
    """Return the same experiment with pictures that take no time."""
    return replace(toy(measured), figures=lambda _: {"squares": Picture()})


def contents(folder):
    return {
        path.name: path.read_bytes() for path in folder.iterdir() if path.suffix in {".csv", ".md", ".svg"}
    }


def without_date(files):
    page = files["README.md"].decode().split("## How this was measured")[0]
    return {**files, "README.md": page}
