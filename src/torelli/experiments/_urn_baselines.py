"""GraKeL's kernels on street networks, in a process of their own."""

from __future__ import annotations

from typing import Any

import numpy as np

from torelli.experiments import baselines
from torelli.experiments._urn_data import load


def kernel_matrix(name: str, kernel: str, *, quick: bool, seed: int) -> tuple[Any, float]:
    """Return the normalised kernel matrix of a set by a kernel of GraKeL, and the seconds it took.

    The graphs have no lengths: with real ones GraKeL's kernels see nothing twice and are blind.

    Parameters
    ----------
    name
        The set.
    kernel
        One of `baselines.BASELINES`.
    quick, seed
        As for `load`.
    """
    graphs = load(name, quick=quick, seed=seed).graphs
    plain = [graph.replace(length=np.ones(graph.n_edges)) for graph in graphs]
    K, fit, transform = baselines.kernel_matrix(plain, kernel, seed=seed)
    return baselines.normalised(K), fit + transform
