"""Models of street patterns, and maps of cities by them, from Python."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import torelli as tt
from torelli.cities import map_city, train_pattern_model
from towns import grid_city


@pytest.fixture(scope="module")
def trained():
    """Return a model of two cities, one with a finer grid than the other."""
    cities = {
        name: grid_city(31, step=step, name=name).jitter(1e-3)
        for name, step in (("fine", 60.0), ("coarse", 100.0))
    }
    data = tt.datasets.build_urn(cities, R=700, r=200, n=24, seed=0)
    return train_pattern_model(data.graphs, data.y, data.groups)


@pytest.fixture(scope="module")
def city():
    """Return a city of the coarse kind."""
    return grid_city(21, step=100.0, name="New Town").jitter(1e-3)


def test_training_returns_the_model_with_its_penalty_and_accuracy(trained):
    """C is one of those tried, and the two grids are told apart by blocked cross-validation."""
    assert trained.C in {1.0, 10.0, 100.0}
    assert trained.accuracy == 1.0
    assert trained.model.classes_.tolist() == ["coarse", "fine"]


@pytest.mark.parametrize("y", [["a"] * 4, ["a", "a", "a", "b"], []])
def test_a_model_needs_two_windows_of_two_classes(y):
    """One class, or a class with one window, is an error that says what is needed."""
    graphs = [tt.datasets.grid(3, 3)] * len(y)
    with pytest.raises(tt.InvalidOptionError, match="two classes or more, with two windows or more"):
        train_pattern_model(graphs, np.array(y))


def test_a_map_covers_the_city(trained, city, tmp_path):
    """Every street belongs to one pattern, row i of each output is window i, and files agree with it."""
    mapped = map_city(trained.model, city, radius=200, step=300)
    assert mapped.shares() == {"coarse": 1.0}
    assert len(mapped.windows) == len(mapped.centres) == len(mapped.patterns) == len(mapped.margins)
    assert sum(streets.n_edges for streets in mapped.streets_by_pattern().values()) == city.n_edges
    for window, centre in zip(mapped.windows, mapped.centres, strict=True):
        np.testing.assert_allclose(window.coordinates.mean(axis=0)[::-1], centre, atol=3e-3)
    mapped.to_csv(tmp_path / "windows.csv")
    mapped.to_geojson(tmp_path / "windows.geojson")
    with (tmp_path / "windows.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [int(row["genus"]) for row in rows] == [window.genus for window in mapped.windows]
    squares = json.loads((tmp_path / "windows.geojson").read_text(encoding="utf-8"))["features"]
    assert [square["properties"]["pattern"] for square in squares] == mapped.patterns.tolist()


def test_windows_are_a_radius_apart_by_default(trained, city):
    """Without a step, neighbouring windows are one radius apart; a step of 0 is refused."""
    assert map_city(trained.model, city, radius=400).step == 400
    for options, message in (({"radius": 400, "step": 0.0}, "step is 0"), ({"radius": -1.0}, "radius is -1")):
        with pytest.raises(tt.InvalidOptionError, match=message):
            map_city(trained.model, city, **options)


def test_streets_are_divided_by_the_nearest_window(trained, city):
    """A city with two patterns has the streets of each where its windows are."""
    mapped = map_city(trained.model, city, radius=200, step=500)
    west = mapped.centres[:, 1] < np.median(city.coordinates[:, 0])
    halves = type(mapped)(**{**vars(mapped), "patterns": np.where(west, "west", "east")})
    streets = halves.streets_by_pattern()
    assert list(streets) == ["east", "west"]
    tails = {name: part.coordinates[part.tail, 0].mean() for name, part in streets.items()}
    assert tails["west"] < tails["east"]


def test_a_projected_city_is_mapped_in_degrees(trained, city):
    """The map of a city in UTM has the patterns of the city in degrees, and places in degrees."""
    pyproj = pytest.importorskip("pyproj")
    to_plane = pyproj.Transformer.from_crs("EPSG:4326", "EPSG:32632", always_xy=True)
    points = np.stack(to_plane.transform(*city.coordinates.T), axis=1)
    expected = map_city(trained.model, city, radius=200, step=300)
    with pytest.warns(tt.DataWarning, match="coordinates in EPSG:32632 were converted"):
        mapped = map_city(
            trained.model, city.replace(coordinates=points, crs="EPSG:32632"), radius=200, step=300
        )
    assert mapped.city.crs == "EPSG:4326"
    assert mapped.shares() == expected.shares()
    assert mapped.centres.min(axis=0) == pytest.approx(expected.centres.min(axis=0), abs=1e-2)
