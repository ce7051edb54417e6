"""A result with hostile names, shared by the tests of this folder."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli._provenance import machine
from torelli.classification import classify

HOSTILE = [
    "<script>window.hacked=1</script>",
    "</script><script>window.hacked=1</script>",
    "\"'><img src=x onerror=window.hacked=1>",
    "🌍 <a href='https://example.org'>link</a>",
    "half \ud800",
    "${window.hacked=1}",
    "%{x} <b>bold</b>",
]


@pytest.fixture(scope="session")
def outcome():
    """Return a classification of graphs and classes whose names are markup; one graph has no edges."""
    data = tt.datasets.street_patterns(6, radius=150, seed=0)
    names = [HOSTILE[i % len(HOSTILE)] + f" {i}" for i in range(len(data.graphs))]
    graphs = [*data.graphs[:-1], tt.MetricGraph([], [], [], 3)]
    classes = ["</script><script>window.hacked=1</script>", "b & <i>c</i>", "'\"", "plain"]
    return classify(graphs, np.array(classes)[data.y], names=names, folds=3)


@pytest.fixture(scope="session")
def about():
    """Return what the result says of itself."""
    title = "<script>window.hacked=1</script>"
    return {"title": title, "command": "torelli classify 'a b'", "seed": 0, **machine()}
