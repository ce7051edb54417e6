"""The street patterns: their shape and the seed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from torelli import InvalidOptionError
from torelli.datasets import street_pattern, street_patterns
from torelli.datasets.calibration import (
    FIGURES,
    figures,
    mean_figures,
)
from torelli.datasets.streets import PATTERNS

SEEDS = st.integers(min_value=0, max_value=2**32)


def straight(graph) -> np.ndarray:
    span = graph.coordinates[graph.head] - graph.coordinates[graph.tail]
    return np.hypot(span[:, 0], span[:, 1])


@pytest.mark.parametrize("pattern", PATTERNS)
@given(seed=SEEDS, radius=st.floats(100.0, 320.0))
@settings(max_examples=25, deadline=None)
def test_a_window_is_a_connected_piece_of_street_network(pattern, seed, radius) -> None:
    """Windows are connected, in metres, in the square; no street is shorter than straight, or than 1 m."""
    graph = street_pattern(pattern, radius=radius, seed=seed)
    assert graph.n_components == 1
    assert graph.unit == "m"
    assert graph.name.startswith(pattern)
    assert (np.abs(graph.coordinates) <= radius + 1e-9).all()
    assert (graph.length >= straight(graph) * (1 - 1e-12)).all()
    assert graph.length.min(initial=np.inf) > 1.0


@pytest.mark.parametrize("pattern", PATTERNS)
def test_the_seed_decides(pattern) -> None:
    """The same seed gives the same window bit for bit, and twenty seeds give twenty windows."""
    windows = [street_pattern(pattern, radius=200, seed=seed) for seed in range(20)]
    assert windows == [street_pattern(pattern, radius=200, seed=seed) for seed in range(20)]
    assert len(set(windows)) == 20


def test_gridiron_streets_run_in_two_directions() -> None:
    """Of a gridiron's street length nearly all runs along one of two perpendicular directions."""
    for seed in range(5):
        assert _along_two_directions(street_pattern("gridiron", seed=seed)) > 0.8
        assert _along_two_directions(street_pattern("chaotic", seed=seed)) < 0.6


def _along_two_directions(graph) -> float:
    """Return the largest share of straight length within 6 degrees of two perpendicular directions."""
    span = graph.coordinates[graph.head] - graph.coordinates[graph.tail]
    weight = straight(graph)
    angle = np.degrees(np.arctan2(span[:, 1], span[:, 0])) % 90.0
    turned = np.abs((angle[:, None] - np.arange(90.0) + 45.0) % 90.0 - 45.0)
    return ((turned < 6.0) * weight[:, None]).sum(axis=0).max() / weight.sum()


def test_linear_has_the_longest_streets_and_tributary_the_most_dead_ends() -> None:
    """The patterns differ in what they are named for."""
    data = street_patterns(30, radius=300, seed=3)
    means = {
        pattern: dict(zip(FIGURES, mean_figures(data.graphs[30 * i : 30 * (i + 1)]), strict=True))
        for i, pattern in enumerate(PATTERNS)
    }
    assert max(PATTERNS, key=lambda p: means[p]["mean length (m)"]) == "linear"
    assert max(PATTERNS, key=lambda p: means[p]["dead-end share"]) == "tributary"


def test_the_data_set_has_every_pattern_alike() -> None:
    """Graphs and labels match, pattern by pattern, and a larger set begins with the smaller one."""
    small, large = street_patterns(2, radius=150, seed=7), street_patterns(3, radius=150, seed=7)
    assert small.y.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert small.target_names.tolist() == list(PATTERNS)
    assert [graph.name.split()[0] for graph in small.graphs] == [PATTERNS[y] for y in small.y]
    assert [small.graphs[2 * i + j] for i in range(4) for j in range(2)] == [
        large.graphs[3 * i + j] for i in range(4) for j in range(2)
    ]
    assert len(set(large.graphs)) == 12
    assert large.graphs != street_patterns(3, radius=150, seed=8).graphs


@pytest.mark.parametrize("radius", [150, 300])
def test_the_task_is_neither_trivial_nor_hopeless(radius) -> None:
    """Simple figures classify the patterns well above chance, and the genus alone far from perfectly."""
    data = street_patterns(60, radius=radius, seed=0)
    table = np.nan_to_num([figures(graph) for graph in data.graphs])
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    classifier = make_pipeline(StandardScaler(), SVC(C=10))
    genus_alone = cross_val_score(classifier, table[:, [1]], data.y, cv=folds).mean()
    everything = cross_val_score(classifier, table, data.y, cv=folds).mean()
    assert 0.3 < genus_alone < 0.7
    assert genus_alone + 0.1 < everything < 0.98
    assert everything > 0.6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pattern": "radial"}, "unknown pattern 'radial': use one of 'gridiron', 'linear'"),
        ({"pattern": "linear", "radius": 50}, "radius must be from 100 to 1000 metres, got 50"),
        ({"pattern": "linear", "radius": float("nan")}, "radius must be from 100"),
        ({"pattern": "linear", "radius": 1e6}, "radius must be from 100"),
    ],
)
def test_impossible_options_are_named(options, message) -> None:
    """A pattern or radius that does not exist is an error that says what does."""
    with pytest.raises(InvalidOptionError, match=message):
        street_pattern(**options)


def test_an_empty_data_set_is_refused() -> None:
    """A data set needs at least one window of each pattern."""
    with pytest.raises(InvalidOptionError, match="n_per_pattern must be at least 1"):
        street_patterns(0)
