"""Features on disk: as in memory, resumed, appended and refused."""

from __future__ import annotations

import shutil
import sys
from functools import partial

import numpy as np
import pytest

import torelli as tt
from stores import content, small_graphs, write_lines
from torelli.scale import _rows, open_features, write_features, write_kernel

SIZE = {"n_features": 4, "depth": 1}


def flip(path):
    """Flip a bit of a file."""
    text = bytearray(path.read_bytes())
    text[10] ^= 1
    path.write_bytes(text)


def counted(monkeypatch):
    """Return a list to which every graph that is transformed is added."""
    seen = []
    make = _rows._transformed

    def counting(recipe, graphs):
        seen.extend(graphs)
        return make(recipe, graphs)

    monkeypatch.setattr(_rows, "_transformed", counting)
    return seen


def test_features_are_those_in_memory(graphs, tmp_path):
    """Rows are those of MeasureFeatures fitted to the same graphs, with their names and labels."""
    labels = [f"class {i % 3}" for i in range(len(graphs))]
    path = write_lines(tmp_path / "graphs.jsonl", graphs, labels)
    store = write_features(path, tmp_path / "f.zarr", **SIZE)
    assert np.allclose(np.asarray(store), tt.MeasureFeatures(**SIZE).fit_transform(graphs), rtol=1e-13)
    assert store.ids.tolist() == [graph.name for graph in graphs]
    assert store.labels.tolist() == labels
    assert store.columns == list(tt.MeasureFeatures(**SIZE).get_feature_names_out())
    assert store.is_complete


def test_spectra_are_those_of_the_matrices(graphs, tmp_path):
    """Rows of tts are roots of eigenvalues, padded with zeros, so that their distance is TTS."""
    store = write_features(graphs, tmp_path / "f.zarr", features="tts")
    X = np.asarray(store)
    assert X.shape == (300, max(graph.genus for graph in graphs))
    some = [0, 7, 150, 299]
    D = tt.pairwise_distances([graphs[i] for i in some], metric="tts")
    assert np.allclose(np.linalg.norm(X[some][:, None] - X[some], axis=2), D)
    assert store.columns[:2] == ["root_0", "root_1"]


def test_a_second_run_computes_nothing(graphs, tmp_path, monkeypatch):
    """The same command on a complete store returns it as it is."""
    write_features(graphs, tmp_path / "f.zarr", **SIZE)
    before = content(tmp_path / "f.zarr")
    seen = counted(monkeypatch)
    store = write_features(graphs, tmp_path / "f.zarr", **SIZE)
    assert not seen
    assert len(store) == 300
    assert content(tmp_path / "f.zarr") == before


def test_a_stopped_run_goes_on_where_it_was(graphs, tmp_path, monkeypatch):
    """Parts that were finished are not computed again, and the bytes are those of one run."""
    write_features(graphs, tmp_path / "once.zarr", **SIZE)

    def broken():
        yield from graphs[:280]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_features(broken(), tmp_path / "f.zarr", **{**SIZE, "n_fit": 200})
    assert len(open_features(tmp_path / "f.zarr")) == 256
    assert not open_features(tmp_path / "f.zarr").is_complete
    seen = counted(monkeypatch)
    write_features(graphs, tmp_path / "f.zarr", **{**SIZE, "n_fit": 200})
    assert [graph.name for graph in seen] == [graph.name for graph in graphs[256:]]
    write_features(graphs, tmp_path / "once.zarr", **{**SIZE, "n_fit": 200}, fresh=True)
    assert content(tmp_path / "f.zarr") == content(tmp_path / "once.zarr")


@pytest.mark.parametrize("features", ["measure", "tts"])
def test_appending_is_as_if_all_had_been_there(graphs, tmp_path, monkeypatch, features):
    """Only new rows are computed, and the result has the bytes of a store that is made at once."""
    options = {"features": features, **({**SIZE, "n_fit": 100} if features == "measure" else {})}
    write_features(graphs, tmp_path / "once.zarr", **options)
    write_features(graphs[:100], tmp_path / "f.zarr", **options)
    seen = counted(monkeypatch)
    write_features(graphs[100:270], tmp_path / "f.zarr", append=True, **options)
    store = write_features(graphs[270:], tmp_path / "f.zarr", append=True, **options)
    assert len(seen) == 200
    assert content(store.path, result_only=True) == content(tmp_path / "once.zarr", result_only=True)
    # a script that is run again from its first command finds everything done
    for some, append in (
        (graphs[:100], False),
        (graphs[100:270], True),
        (graphs[270:], True),
        (graphs, False),
    ):
        assert len(write_features(some, tmp_path / "f.zarr", append=append, **options)) == 300
    assert len(seen) == 200


def test_appending_longer_spectra_widens_all_rows(tmp_path):
    """A graph with more cycles than any before adds columns, and the rows before have zeros there."""
    ladder = np.arange(201)
    wide = tt.MetricGraph(
        np.repeat(ladder[:-1], 2), np.repeat(ladder[1:], 2), np.linspace(1, 2, 400), unit="m"
    )
    few = small_graphs(3)
    write_features(few, tmp_path / "f.zarr", features="tts")
    store = write_features([wide], tmp_path / "f.zarr", features="tts", append=True)
    write_features([*few, wide], tmp_path / "once.zarr", features="tts")
    assert store.shape == (4, 200)
    assert not store[:3, 10:].any()
    whole, once = (content(tmp_path / name, result_only=True) for name in ("f.zarr", "once.zarr"))
    assert {path: whole[path] for path in whole if path.startswith("features")} == {
        path: once[path] for path in once if path.startswith("features")
    }


def test_other_inputs_are_refused(graphs, tmp_path):
    """A store says which row was made from another graph, that inputs have grown, or have shrunk."""
    path = tmp_path / "f.zarr"
    write_features(graphs, path, **SIZE)
    changed = [*graphs[:40], graphs[40].replace(length=2 * graphs[40].length), *graphs[41:]]
    with pytest.raises(
        tt.StoreError, match=r"its row 40 is graph 'g0-40', and graph 40: g0-40 is not the same"
    ):
        write_features(changed, path, **SIZE)
    with pytest.raises(tt.StoreError, match=r"300 graphs, and the inputs have more; .* --append"):
        write_features([*graphs, graphs[0]], path, **SIZE)
    with pytest.raises(tt.StoreError, match="300 graphs of these inputs, which now have 256"):
        write_features(graphs[:256], path, **SIZE)
    with pytest.raises(tt.StoreError, match="n_features is 4 there and 8 here"):
        write_features(graphs, path, **{**SIZE, "n_features": 8})


def test_lengths_in_two_units_are_refused(graphs, tmp_path):
    """Graphs in metres and kilometres do not mix, within a part and across parts."""
    for other in (graphs[1], graphs[290]):
        mixed = [graph.replace(unit="km") if graph is other else graph for graph in graphs]
        with pytest.raises(tt.InvalidGraphError, match="lengths are in 2 units: 'm'"):
            write_features(mixed, tmp_path / f"{other.name}.zarr", **SIZE)


@pytest.mark.parametrize("write", [write_features, write_kernel])
def test_appended_lengths_in_another_unit_are_refused(graphs, tmp_path, write):
    """Kilometres are not appended to metres, which leaves the store as it is; other names of metres are."""
    options = SIZE if write is write_features else {"tile": 8}
    store = write(graphs[:9], tmp_path / "s.zarr", **options)
    before = content(store.path, result_only=True)
    more = [graph.replace(unit="km") for graph in graphs[9:20]]
    told = r"lengths are in 2 units: 'm' \(such as 'g0-0'\), 'km' \(such as 'g0-9'\); convert the new"
    with pytest.raises(tt.InvalidGraphError, match=told):
        write(more, store.path, append=True, **options)
    assert content(store.path, result_only=True) == before
    assert write(graphs[:9], store.path, **options).is_complete
    named = [graph.replace(unit="metres") for graph in more]
    assert len(write(named, store.path, append=True, **options)) == 20


@pytest.mark.parametrize("write", [write_features, partial(write_kernel, kernel="ttm")])
def test_features_are_not_fitted_to_lengths_in_another_unit(graphs, tmp_path, write):
    """Metres are not compared with a fit to kilometres, in a store as in memory."""
    others = [graph.replace(unit="km") for graph in graphs[9:20]]
    with pytest.raises(tt.InvalidGraphError, match=r"lengths are in 2 units: 'km'.*'m'"):
        write(graphs[:9], tmp_path / "s.zarr", fit=others, **SIZE)
    with pytest.raises(tt.InvalidGraphError, match="lengths are in 2 units"):
        tt.TTMKernel(**SIZE).fit(others).transform(graphs[:9])


def test_the_transformer_of_a_store_knows_its_unit(graphs, tmp_path):
    """Graphs in another unit are refused, as by --append."""
    metres = [graph.replace(unit="m") for graph in graphs[:9]]
    transformer = write_features(metres, tmp_path / "f.zarr", **SIZE).transformer()
    with pytest.raises(tt.InvalidGraphError, match="lengths are in 2 units"):
        transformer.transform([metres[0].to_unit("km")])


@pytest.mark.parametrize(
    "write", [partial(write_features, features="tts"), partial(write_kernel, kernel="ttw")]
)
def test_what_is_not_fitted_takes_no_graphs_to_fit_to(graphs, tmp_path, write):
    """Graphs to fit to would have no effect on matrices."""
    with pytest.raises(tt.InvalidOptionError, match="matrices are not fitted, leave it out"):
        write(graphs[:9], tmp_path / "s.zarr", fit=graphs[9:12])
    assert not (tmp_path / "s.zarr").exists()


@pytest.mark.parametrize("name", ["zarr.json", "_torelli/zarr.json"])
def test_files_that_describe_a_store_are_verified(graphs, tmp_path, name):
    """A change of what tells zarr what a store is counts as damage, and --verify repairs it."""
    store = write_features(graphs[:9], tmp_path / "f.zarr", **SIZE)
    before = (store.path / name).read_bytes()
    (store.path / name).write_bytes(before[:-2] + b" }")
    with pytest.raises(tt.FormatError, match=rf"1 files are damaged, such as {name}"):
        store.verify()
    write_features(graphs[:9], tmp_path / "f.zarr", verify=True, **SIZE).verify()
    assert (store.path / name).read_bytes() == before


def test_other_graphs_get_the_features_that_they_would_have_in_the_store(graphs, tmp_path):
    """The transformer of a store gives a graph the same bits as appending it."""
    store = write_features(graphs[:50], tmp_path / "f.zarr", **SIZE)
    row = store.transformer().transform([graphs[200]])
    more = write_features([graphs[200]], tmp_path / "f.zarr", append=True, **SIZE)
    assert more[50].tobytes() == row[0].tobytes()


def test_features_can_be_fitted_to_other_graphs(graphs, tmp_path):
    """With fit, rows are those of a transformer fitted to these graphs, and other ones are refused later."""
    store = write_features(graphs[:20], tmp_path / "f.zarr", fit=graphs[100:120], **SIZE)
    expected = tt.MeasureFeatures(**SIZE).fit(graphs[100:120]).transform(graphs[:20])
    assert np.allclose(np.asarray(store), expected, rtol=1e-13)
    with pytest.raises(tt.StoreError, match="fit is 20 graphs"):
        write_features(graphs[:20], tmp_path / "f.zarr", **SIZE)


@pytest.mark.parametrize("name", ["features/c/1/0", "_torelli/rows/0000000000.json", "_torelli/fit.json"])
def test_damaged_files_are_made_again(graphs, tmp_path, name):
    """With verify, a file with a flipped bit is found and made again, to the same bytes."""
    write_features(graphs, tmp_path / "f.zarr", **SIZE)
    before = content(tmp_path / "f.zarr")
    flip(tmp_path / "f.zarr" / name)
    with pytest.warns(tt.DataWarning, match="1 files of f.zarr are missing or damaged"):
        write_features(graphs, tmp_path / "f.zarr", verify=True, **SIZE)
    assert content(tmp_path / "f.zarr") == before


@pytest.mark.filterwarnings("ignore:.*are missing or damaged and are made again")
@pytest.mark.parametrize("features", ["measure", "tts"])
@pytest.mark.parametrize("name", ["features/c/0/0", "_torelli/rows/0000000000.json"])
def test_damage_of_an_appended_store_is_repaired_or_told(graphs, tmp_path, features, name):
    """Whichever inputs are given with verify, rows of all inputs are there again, or the error asks for them.

    A chunk of features that two calls have filled needs the inputs of both.
    """
    options = {"features": features, **({**SIZE, "n_fit": 20} if features == "measure" else {})}
    write_features(graphs[:20], tmp_path / "sound.zarr", **options)
    write_features(graphs[20:30], tmp_path / "sound.zarr", append=True, **options)
    root, told = tmp_path / "f.zarr", []
    for some, append in ((graphs[:20], False), (graphs[20:30], True), (graphs[:30], False)):
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(tmp_path / "sound.zarr", root)
        flip(root / name)
        try:
            write_features(some, root, append=append, verify=True, **options)
        except tt.StoreError as error:
            told.append(str(error))
            write_features(graphs[:30], root, verify=True, **options)
        assert content(root) == content(tmp_path / "sound.zarr")
    needs_both = 2 if (features, name[0]) == ("measure", "f") else name[0] == "_"
    assert len(told) == needs_both
    assert all("give the inputs of all 30 rows in their order, without --append" in text for text in told)


def test_rows_of_a_killed_append_are_not_kept_beside_others(graphs, tmp_path, monkeypatch):
    """If an append is killed before its rows are noted, fewer graphs instead give the bytes of one run."""
    options = {**SIZE, "n_fit": 20}
    write_features(graphs[:20], tmp_path / "f.zarr", **options)
    with monkeypatch.context() as patch:
        patch.setattr("torelli.scale._store.Journal.finish", lambda *_: sys.exit())
        with pytest.raises(SystemExit):
            write_features(graphs[20:40], tmp_path / "f.zarr", append=True, **options)
    write_features(graphs[20:30], tmp_path / "f.zarr", append=True, **options)
    write_features(graphs[:30], tmp_path / "once.zarr", **options)
    whole, once = (content(tmp_path / name, result_only=True) for name in ("f.zarr", "once.zarr"))
    assert whole == once


def test_a_chunk_of_two_calls_is_made_again_from_their_own_graphs(graphs, tmp_path):
    """While a lost chunk is made again, other graphs in place of those of a later call are refused."""
    write_features(graphs[:20], tmp_path / "f.zarr", **SIZE)
    write_features(graphs[20:30], tmp_path / "f.zarr", append=True, **SIZE)
    (tmp_path / "f.zarr" / "features/c/0/0").unlink()
    with pytest.raises(tt.StoreError, match="made from other inputs: its row 25 is graph 'g0-25'"):
        write_features([*graphs[:25], *graphs[100:105]], tmp_path / "f.zarr", **SIZE)
    with pytest.raises(tt.FormatError, match="is not finished"):
        open_features(tmp_path / "f.zarr")
    with pytest.raises(tt.StoreError, match="rows from 20 on are damaged"):
        write_features(graphs[:20], tmp_path / "f.zarr", **SIZE)
    assert not np.isnan(np.asarray(write_features(graphs[:30], tmp_path / "f.zarr", **SIZE))).any()


def test_names_and_options_are_checked_first(graphs, tmp_path):
    """A name of no known format, an option that does not exist and too little memory are errors."""
    with pytest.raises(tt.InvalidOptionError, match=r"ends in \.zarr, \.npy, \.csv or \.parquet"):
        write_features(graphs, tmp_path / "f.hdf5")
    with pytest.raises(tt.InvalidOptionError, match="unknown features 'ttw'"):
        write_features(graphs, tmp_path / "f.zarr", features="ttw")
    with pytest.raises(tt.InvalidOptionError, match="dtype is 'float16'"):
        write_features(graphs, tmp_path / "f.zarr", dtype="float16")
    with pytest.raises(tt.InvalidOptionError, match="memory is 1000"):
        write_features(graphs, tmp_path / "f.zarr", memory=1000)
    with pytest.raises(tt.InvalidOptionError, match=r"only a store, whose name ends in \.zarr"):
        write_features(graphs, tmp_path / "f.npy", append=True)
    assert not list(tmp_path.iterdir())
