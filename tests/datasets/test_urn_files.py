"""Built sets as files."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

import torelli as tt
from torelli.datasets import build_urn, read_urn, save_urn
from towns import grid_city


def windows():
    """Return a small set of two cities."""
    cities = {"Nord <b>": grid_city(), "Süd": grid_city(lat=-30.0, step=80.0)}
    return build_urn(cities, R=1000, r=150, n=9, seed=3, labels=["a", "b"])


@pytest.mark.parametrize("name", ["set.jsonl", "set.jsonl.gz"])
def test_a_set_is_read_back_as_it_was(tmp_path, name):
    """Graphs bit for bit, labels, cities, blocks, centres and parameters."""
    data = windows()
    back = read_urn(save_urn(data, tmp_path / "new" / name))
    assert back.graphs == data.graphs
    for one, two in zip(back.graphs, data.graphs, strict=True):
        assert (one.name, one.unit, one.crs) == (two.name, two.unit, two.crs)
        assert np.array_equal(one.coordinates, two.coordinates)
    for key in ("y", "city", "groups", "centres", "target_names"):
        assert np.array_equal(back[key], data[key])
    for key in ("R", "r", "cut", "seed"):
        assert back[key] == data[key]
    assert tt.read(tmp_path / "new" / name) == data.graphs
    assert [path.name for path in (tmp_path / "new").iterdir()] == [name]


def test_equal_sets_are_equal_files(tmp_path):
    """No time of writing is in the file."""
    one, two = (save_urn(windows(), tmp_path / f"{name}.jsonl.gz").read_bytes() for name in "ab")
    assert one == two
    record = json.loads(gzip.decompress(one).splitlines()[0])
    assert record["label"] == "a"
    assert record["set"] == {"R": 1000, "r": 150, "cut": "bbox", "seed": 3}


def test_other_files_are_refused_with_the_reason(tmp_path):
    """A wrong name before writing, graphs without labels when reading."""
    with pytest.raises(tt.InvalidOptionError, match=r"set\.txt: give a name that ends in \.jsonl"):
        save_urn(windows(), tmp_path / "set.txt")
    bare = tmp_path / "bare.jsonl"
    bare.write_text('{"edges": [[0, 1, 2.5]]}\n', encoding="utf-8")
    with pytest.raises(tt.FormatError, match=r"bare\.jsonl, graph 0: there is no label, city"):
        read_urn(bare)
