"""Units of length."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli import _units


def test_mixed_units_are_refused_and_can_be_converted() -> None:
    """Graphs in metres beside graphs in kilometres are no list to compare; in one unit they are."""
    in_metres = tt.MetricGraph([0, 0], [1, 1], [1000.0, 2000.0], unit="m")
    in_kilometres = tt.MetricGraph([0, 0], [1, 1], [1.0, 2.0], unit="km")
    for compute in (tt.torelli_matrices, tt.TTWKernel().fit):
        with pytest.raises(tt.InvalidGraphError, match="km"):
            compute([in_metres, in_kilometres])
    Q, R = tt.torelli_matrices([in_metres, in_kilometres.to_unit("m")])
    assert np.array_equal(Q, R)
    with pytest.raises(tt.InvalidOptionError, match="degree"):
        in_metres.replace(unit="degrees").to_unit("m")


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        ("m", 1.0),
        (" Metres ", 1.0),
        ("km", 1000.0),
        ("mile", 1609.344),
        ("nautical mile", 1852.0),
        ("ft", 0.3048),
        ("US survey foot", 1200 / 3937),
        ("yd", 0.9144),
        ("in", 0.0254),
        ("\N{MICRO SIGN}m", 1e-6),
        ("\N{GREEK SMALL LETTER MU}m", 1e-6),
        ("micron", 1e-6),
        ("nm", 1e-9),
        ("furlong", None),
        ("degrees", None),
        ("", None),
    ],
)
def test_lengths_of_units(unit, expected):
    """Units are known by symbol, name and plural, in any case; what is not known is None."""
    assert _units.metres(unit) == expected


def test_conversion_is_exact_in_both_directions():
    """A mile is 5280 feet, and a graph converted there and back has its lengths."""
    graph = tt.MetricGraph([0, 1], [1, 0], [1.0, 2.5], unit="mi", name="track")
    in_feet = graph.to_unit("ft")
    assert in_feet.length == pytest.approx([5280.0, 13200.0], rel=1e-15)
    assert (in_feet.unit, in_feet.name) == ("ft", "track")
    assert in_feet.to_unit("mi").length == pytest.approx(graph.length, rel=1e-15)


def test_two_names_of_one_unit_need_no_conversion():
    """Also units that are not known convert to themselves, whatever the case and blanks."""
    assert _units.factor("Metre", "m", name=None) == 1.0
    assert _units.factor("hops", " Hops", name=None) == 1.0


@pytest.mark.parametrize(
    ("given", "wanted", "message"),
    [
        (
            None,
            "m",
            r"^graph 'g': the unit of the lengths is unknown; set it with graph\.replace\(unit=\.\.\.\)",
        ),
        ("furlong", "m", r"^graph 'g': .* from 'furlong' to 'm': 'furlong' is not one of nm, um, mm"),
        ("m", "parsec", "'parsec' is not one of"),
        ("deg", "m", "lengths in 'deg' cannot be converted: a degree is not the same length everywhere"),
        ("km", "\N{DEGREE SIGN}", "cannot be converted"),
    ],
)
def test_what_cannot_be_converted_is_named_with_the_graph(given, wanted, message):
    """The error has the graph, both units and the remedy."""
    with pytest.raises(tt.InvalidOptionError, match=message):
        _units.factor(given, wanted, name="g")


def ring(unit, name=None):
    """Return a graph of one loop."""
    return tt.MetricGraph([0], [0], [1.0], unit=unit, name=name)


def test_graphs_that_agree_pass():
    """Names of one unit, graphs without edges, and lists that all state nothing are no conflict."""
    _units.check_units([ring("m"), ring("Metre")], [ring(" meters ")])
    _units.check_units([ring(None), ring(None)])
    _units.check_units([ring("m"), tt.MetricGraph([], [], [], 2, unit="km"), tt.MetricGraph([], [], [], 2)])
    _units.check_units([])


def test_graphs_that_disagree_are_counted_by_unit_with_their_positions():
    """Each unit is listed with the graphs that have it, those of a second list apart, and the remedy."""
    graphs = [ring("m"), ring("km", "far"), *(ring("m") for _ in range(6))]
    with pytest.raises(tt.InvalidGraphError) as caught:
        _units.check_units(graphs, [ring("ft")])
    text = str(caught.value)
    assert "lengths are in 3 units" in text
    assert "'m' in graphs 0, 2, 3, 4, 5 and 2 more" in text
    assert "'km' in graph 1 'far'" in text
    assert "'ft' in graph 0 of the second list" in text
    assert "--unit m" in text


def test_graphs_without_a_unit_are_taken_as_the_others_with_a_warning():
    """The warning counts and names them, and says in what unit they are taken to be."""
    with pytest.warns(tt.DataWarning, match=r"^1 of 3 graphs state no unit \(graph 1\): .* in 'km'"):
        _units.check_units([ring("km"), ring(None), ring("km")])


def test_a_graph_without_a_unit_is_taken_to_be_in_the_one_asked_for():
    """`in_unit` converts what states a unit, and only names that of the others."""
    assert _units.in_unit(ring("km"), "m").length.tolist() == [1000.0]
    stated = _units.in_unit(ring(None), "m")
    assert (stated.length.tolist(), stated.unit) == ([1.0], "m")
