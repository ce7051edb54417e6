"""The order in which distances are computed, and when a search stops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torelli._errors import FormatError
from torelli.search._nearest import nearest, nearest_of, within


class Numbers:
    """Numbers on a line, whose distance to a query is bounded by a share of it."""

    batch = 8

    def __init__(self, places, share, blur=0.0, tight=0.0):
        self.places, self.share, self.blur = np.asarray(places, dtype=float), share, blur
        self.tight = tight

    def __len__(self):
        return len(self.places)

    def lower_bounds(self, query):
        """Return the bounds."""
        return self.share * np.abs(self.places - query)

    def tightened(self, query, items):
        """Return other bounds, which may be better."""
        return self.tight * np.abs(self.places[items] - query)

    def estimates(self, query, items):
        """Return the blurred distances."""
        exact = np.abs(self.places[items] - query)
        return np.maximum(exact - self.blur, 0.0), exact + self.blur

    def distances(self, query, items):
        """Return the distances."""
        return np.abs(self.places[items] - query)


@given(
    st.lists(st.integers(-50, 50), min_size=1, max_size=300),
    st.integers(-60, 60),
    st.floats(0.0, 1.0),
    st.sampled_from([0.0, 1e-9, 0.5]),
    st.data(),
)
def test_bounds_never_hide_a_neighbour(places, query, share, blur, data):
    """The k nearest are among what is found, however weak the bounds and blurred the estimates."""
    places = sorted(set(places))
    k = data.draw(st.integers(1, len(places)))
    closest = nearest(Numbers(places, share, blur), query, k, np.ones(len(places), dtype=int))
    exact = np.abs(np.array(places) - query)
    limit = np.sort(exact)[k - 1]
    assert set(np.flatnonzero(exact <= limit)) <= set(closest.items.tolist())
    assert closest.distances.tolist() == exact[closest.items].tolist()


def test_tight_bounds_spare_distances():
    """With bounds of half the distance, a search among 10,000 computes few distances."""
    collection = Numbers(np.arange(10_000), 0.5)
    assert nearest(collection, 5000.2, 3, np.ones(10_000, dtype=int)).n_computed < 100
    assert (
        nearest(Numbers(np.arange(10_000), 0.0), 5000.2, 3, np.ones(10_000, dtype=int)).n_computed == 10_000
    )


def test_counts_of_graphs_end_a_search_earlier():
    """An item of many graphs holds the k nearest alone."""
    counts = np.array([10, *[1] * 199])
    closest = nearest(Numbers(np.arange(200), 1.0), 0, 8, counts)
    assert closest.items.tolist() == [0]


def test_radius_is_inclusive():
    """Items at the radius are found, and those beyond are not."""
    inside = within(Numbers(np.arange(50), 0.3, 1e-9), 10, 3.0)
    assert sorted(inside.items.tolist()) == [7, 8, 9, 10, 11, 12, 13]
    assert inside.n_computed < 50


def test_candidates_are_sorted_among_themselves():
    """A search among given items finds the nearest of them."""
    collection = Numbers(np.arange(50), 0.0)
    closest = nearest_of(collection, 10, 2, np.ones(50, dtype=int), np.array([3, 30, 12, 20]))
    assert set(closest.items.tolist()) == {12, 3}


def test_false_bounds_are_noticed():
    """A bound above the distance, as in a damaged file, is an error and no wrong result."""
    with pytest.raises(FormatError, match="does not belong"):
        nearest(Numbers(np.arange(50), 1.5), 0, 3, np.ones(50, dtype=int))


def test_tightened_bounds_spare_distances():
    """Where sketches say little, better bounds of the items in question leave few distances to compute."""
    places = np.arange(3000)
    loose, tight = (
        nearest(Numbers(places, 0.01, tight=share), 1500, 3, np.ones(3000, dtype=int)) for share in (0.0, 0.9)
    )
    assert sorted(loose.items[np.argsort(loose.distances)][:3].tolist()) == [1499, 1500, 1501]
    assert sorted(tight.items[np.argsort(tight.distances)][:3].tolist()) == [1499, 1500, 1501]
    assert (loose.n_computed, tight.n_computed) == (201, 64)
    inside = within(Numbers(places, 0.01, tight=0.9), 1500, 5.0)
    assert sorted(inside.items.tolist()) == list(range(1495, 1506))
    assert inside.n_computed < 20
