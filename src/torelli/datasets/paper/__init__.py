"""The paper's tables, as printed, one CSV file each."""

from __future__ import annotations

import csv
from importlib.resources import files

from torelli._errors import unknown_option

# the printed tables break the long name of this set in two
_NAMES = {"FRANKEN-STEIN": "FRANKENSTEIN"}


def paper_table_names() -> list[str]:
    """Return the names of the tables."""
    return sorted(entry.name[:-4] for entry in files(__name__).iterdir() if entry.name.endswith(".csv"))


def paper_table(name: str) -> list[dict[str, str]]:
    """Return a table of the paper: one dictionary per row, every value as printed.

    Parameters
    ----------
    name
        One of `paper_table_names`, such as ``"dataset_statistics"``, ``"accuracy"`` or
        ``"urn_construction"``. ``"M"`` in a table means that the authors ran out of memory.

    Notes
    -----
    Data sets have the names of the TU site, ``FRANKENSTEIN`` included, which the paper breaks in two.

    Examples
    --------
    >>> import torelli as tt
    >>> len(tt.datasets.paper_table("dataset_statistics"))
    23
    """
    possible = paper_table_names()
    if name not in possible:
        raise unknown_option("table", name, possible)
    text = (files(__name__) / f"{name}.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    for row in rows:
        if "dataset" in row:
            row["dataset"] = _NAMES.get(row["dataset"], row["dataset"])
    return rows
