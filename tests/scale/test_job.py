"""What calls that write stores have in common."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.scale import FeatureStore, KernelStore, write_features, write_kernel


@pytest.mark.parametrize("write", [write_features, write_kernel])
def test_options_that_do_not_fit_are_refused_before_anything_is_written(graphs, tmp_path, write):
    """Endings, types, appending to a plain file and too little memory are errors of both functions."""
    for name, options, problem in (
        ("x.txt", {}, "give a name that ends in"),
        ("x.zarr", {"dtype": "int8"}, "unknown dtype"),
        ("x.npy", {"append": True}, "only a store, whose name ends in .zarr, can be appended to"),
        ("x.zarr", {"memory": 10}, "memory is 10"),
    ):
        with pytest.raises(tt.InvalidOptionError, match=problem):
            write(graphs[:3], tmp_path / name, **options)
    assert not list(tmp_path.iterdir())


def test_the_result_is_a_store_or_the_path_of_a_file(graphs, tmp_path):
    """The ending decides, also when the result is there already."""
    for _ in range(2):
        assert isinstance(write_features(graphs[:3], tmp_path / "f.zarr", n_features=2), FeatureStore)
        assert isinstance(write_kernel(graphs[:3], tmp_path / "k.zarr", "tts"), KernelStore)
        path = write_kernel(graphs[:3], tmp_path / "k.npy", "tts")
        assert np.load(path).shape == (3, 3)
