"""The experiments of the paper, one module each; ``torelli reproduce NAME`` runs one."""

from __future__ import annotations

from importlib import import_module

from torelli._errors import unknown_option
from torelli.experiments._experiment import Cell, Experiment, Settings, stored_rows
from torelli.experiments._pages import index, write_index
from torelli.experiments._run import run

EXPERIMENTS: tuple[str, ...] = (
    "runtime",
    "truncation",
    "definiteness",
    "perturbation",
    "benchmark",
    "urn",
    "invariance",
    "complexity",
    "stability",
    "peers",
    "collections",
)
"""Modules of this package with an ``EXPERIMENT``, in the order of the paper."""


def get_experiment(name: str) -> Experiment:
    """Return an experiment by its name."""
    if name not in EXPERIMENTS:
        raise unknown_option("experiment", name, list(EXPERIMENTS))
    experiment: Experiment = import_module(f"torelli.experiments.{name}").EXPERIMENT
    return experiment


__all__ = [
    "EXPERIMENTS",
    "Cell",
    "Experiment",
    "Settings",
    "get_experiment",
    "index",
    "run",
    "stored_rows",
    "write_index",
]
