"""Reading stores, and plain files made from them."""

from __future__ import annotations

import pickle

import dask.array as da
import numpy as np
import pytest
import zarr

import torelli as tt
from stores import write_lines
from torelli.scale import kernel as kernel_module
from torelli.scale import open_features, open_kernel, write_features, write_kernel

SIZE = {"n_features": 4, "depth": 1}


@pytest.fixture(scope="module")
def store(graphs, tmp_path_factory):
    """Return a store of features with labels."""
    folder = tmp_path_factory.mktemp("store")
    path = write_lines(folder / "graphs.jsonl", graphs, ["a", "b", "c"] * 100)
    return write_features(path, folder / "f.zarr", **SIZE)


@pytest.mark.parametrize(
    "key",
    [
        0, -1, slice(None), slice(250, 260), slice(None, None, 7), [1, 299, 3], np.arange(300) % 2 == 0,
        (slice(3, 9), slice(2, 5)), (5, 7), (slice(255, 257), [0, 3]), ([0, 256], slice(1, 4)), slice(9, 3),
    ],
)  # fmt: skip
def test_indices_are_those_of_numpy(store, key):
    """Rows and columns are taken as from an array."""
    X = np.asarray(store)
    assert np.array_equal(store[key], X[key])


def test_an_index_out_of_range_is_an_error(store):
    """There is no row after the last, and none before the first."""
    for key in (300, -301, [0, 300]):
        with pytest.raises(IndexError, match="out of range"):
            store[key]


@pytest.mark.parametrize("key", [([0, 1], [1, 2]), None, ..., (0, 1, 2), np.array([True] * 3)])
def test_an_index_with_another_meaning_in_numpy_is_an_error(store, key):
    """Two lists would pair rows with columns, and a mask must have an entry for each row."""
    with pytest.raises(IndexError, match=r"two lists|give rows|mask has shape \(3,\)"):
        store[key]


def test_other_libraries_read_the_same(store):
    """zarr, dask and pandas see the numbers, names and labels that the store has."""
    X = np.asarray(store)
    group = zarr.open_group(store.path, mode="r")
    assert sorted(name for name, _ in group.members()) == ["_torelli", "features", "id", "label"]
    assert np.array_equal(group["features"][:], X)
    assert group["features"].attrs["columns"] == store.columns
    assert group["id"][:].tolist() == store.ids.tolist()
    assert group["label"][:].tolist() == store.labels.tolist()
    assert np.array_equal(da.from_zarr(str(store.path), component="features").compute(), X)
    lazy = store.to_dask()
    assert lazy.chunks[0] == (256, 44)
    assert np.array_equal(lazy[250:260].compute(scheduler="synchronous"), X[250:260])
    frame = store.to_pandas()
    assert np.array_equal(frame[store.columns].to_numpy(), X)
    assert frame.index.tolist() == store.ids.tolist()
    assert frame["label"].tolist() == store.labels.tolist()
    assert np.array_equal(pickle.loads(pickle.dumps(store))[5], X[5])  # noqa: S301  (our own)
    assert np.array_equal(np.vstack([rows for _, rows in store.blocks()]), X)


def test_a_reader_sees_a_store_grow(graphs, tmp_path):
    """A store can be read while rows are added; new ones are there after refresh."""
    write_features(graphs[:250], tmp_path / "f.zarr", n_fit=100, **SIZE)
    reader = open_features(tmp_path / "f.zarr")
    old = np.asarray(reader)
    seen = []

    def stream():
        yield from graphs[250:280]
        seen.append(np.array_equal(open_features(tmp_path / "f.zarr")[:250], old))  # the first part is there
        seen.append(len(open_features(tmp_path / "f.zarr")))
        yield from graphs[280:]

    write_features(stream(), tmp_path / "f.zarr", append=True, n_fit=100, **SIZE)
    assert seen == [True, 256]
    assert np.array_equal(np.asarray(reader), old)
    reader.refresh()
    assert reader.shape[0] == 300
    assert np.array_equal(reader[:250], old)


def test_the_wrong_store_is_refused(graphs, store, tmp_path):
    """Features are not a kernel, and a plain file is read by other means, which the error names."""
    kernel = write_kernel(graphs[:5], tmp_path / "k.zarr")
    with pytest.raises(tt.StoreError, match=r"is a store of kernel: use torelli\.open_kernel"):
        open_features(kernel.path)
    with pytest.raises(tt.StoreError, match=r"use torelli\.open_features"):
        open_kernel(store.path)
    with pytest.raises(tt.InvalidOptionError, match=r"pandas\.read_parquet"):
        open_features("f.parquet")
    with pytest.raises(tt.StoreError, match="does not exist"):
        open_features(tmp_path / "nothing.zarr")


def test_a_reader_that_comes_before_gamma_sees_the_kernel_later(tmp_path):
    """A kernel has no rows for readers before the side of its tiles is known, and refresh adds them."""
    rings = [tt.MetricGraph([0], [0], [float(length)]) for length in (1, 4, 9)]
    path, seen = tmp_path / "k.zarr", []
    choose = kernel_module._gamma

    def look_and_choose(*given):
        seen.append(open_kernel(path))
        return choose(*given)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_module, "_gamma", look_and_choose)
        write_kernel(rings, path, "tts", tile=2)
    (early,) = seen
    assert early.shape == (0, 0)
    assert early.gamma == open_kernel(path).gamma
    early.refresh()
    assert np.array_equal(np.asarray(early), np.asarray(open_kernel(path)))


def test_a_store_describes_itself(store):
    """The representation has the shape, and options are those that were given."""
    assert "shape=(300, 12)" in repr(store)
    assert store.options["transformer"]["n_features"] == 4
    store.verify()
