"""Indexes on disk: the same results after loading, and errors for everything that is not an index."""

from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest

import torelli as tt
from torelli._errors import FormatError
from torelli.datasets import street_patterns
from torelli.search._storage import (
    RECORDS_FILE,
    Records,
    StoredFolder,
    StoredRecords,
    _checksum,
    write_folder,
)

GRAPHS = [
    tt.MetricGraph(
        [0, 1], [1, 0], [1.0, 2.0], name="flat", coordinates=[[0.0, 1.0], [2.0, 3.0]], crs="EPSG:4326"
    ),
    tt.MetricGraph([], [], [], 2, name="points"),
    tt.MetricGraph(
        [0], [1], [1.5], coordinates=[[0.0, 1.0, 2.0], [2.0, np.nan, 3.0]], unit="m", source="a.csv"
    ),
]
KERNELS = ("ttw", "tte", "tts", "ttm")


def test_arrays_and_files_are_read_back(tmp_path):
    """Arrays of any size, empty ones too, and files are what was written."""
    arrays = {"a": np.arange(6.0).reshape(2, 3), "none": np.empty((0, 4)), "i": np.array([1, 2])}
    write_folder(tmp_path / "x", {"k": 1}, arrays, {"text.txt": lambda path: path.write_text("hello")})
    stored = StoredFolder(tmp_path / "x", verify=True)
    for name, array in arrays.items():
        assert stored.array(name).tolist() == array.tolist()
        assert stored.array(name).shape == array.shape
    assert stored.file("text.txt").read_text() == "hello"
    assert stored.about["k"] == 1
    assert "a.npy" in stored
    assert "b.npy" not in stored


def test_writing_again_leaves_nothing_behind(tmp_path):
    """An index written over another one has no arrays of the old one."""
    write_folder(tmp_path, {}, {"old": np.zeros(2), "both": np.zeros(2)}, {})
    write_folder(tmp_path, {}, {"both": np.ones(3)}, {})
    assert {file.name for file in tmp_path.iterdir()} == {"both.npy", "index.json"}
    assert StoredFolder(tmp_path, verify=True).array("both").tolist() == [1.0] * 3


def test_failed_writing_keeps_the_old(tmp_path):
    """An error while files are written leaves the folder as it was."""
    write_folder(tmp_path, {"k": 1}, {"a": np.zeros(2)}, {})

    def fail(path):
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="space"):
        write_folder(tmp_path, {"k": 2}, {"a": np.ones(2)}, {"b": fail})
    stored = StoredFolder(tmp_path, verify=True)
    assert stored.about["k"] == 1
    assert stored.array("a").tolist() == [0.0, 0.0]


def test_checksums_are_compared_if_asked(tmp_path):
    """A changed byte is noticed with verify, and a changed size always."""
    write_folder(tmp_path, {}, {"a": np.zeros(4)}, {})
    path = tmp_path / "a.npy"
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\1")
    with pytest.raises(FormatError, match="checksum"):
        StoredFolder(tmp_path, verify=True).array("a")
    assert StoredFolder(tmp_path, verify=False).array("a")[-1] != 0.0
    path.write_bytes(content[:-1])
    with pytest.raises(FormatError, match="bytes"):
        StoredFolder(tmp_path, verify=False).array("a")


def test_objects_are_never_unpickled(tmp_path):
    """An array of objects, which only a pickle holds, is refused."""

    def write(path):
        np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)

    write_folder(tmp_path, {}, {}, {"a.npy": write})
    with pytest.raises(FormatError, match=r"a\.npy"):
        StoredFolder(tmp_path, verify=True).array("a")


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        np.arange(3.0).astype(">f8"),
        np.array(["a"]),
        np.array([True]),
        np.array([1j]),
    ],
)
def test_arrays_of_other_kinds_are_refused(tmp_path, array):
    """Only C-ordered floats and integers of this machine's byte order are arrays of an index."""
    write_folder(tmp_path, {}, {}, {"a.npy": lambda path: np.save(path, array)})
    with pytest.raises(FormatError, match="not an array of numbers"):
        StoredFolder(tmp_path, verify=True).array("a")


def test_a_damaged_header_is_a_format_error(tmp_path):
    """Whatever a changed byte makes of the header of an array, it is named if checksums are not compared."""
    write_folder(tmp_path, {}, {"a": np.zeros(4), "b": np.zeros((0, 3))}, {})
    refused = 0
    for name in ("a", "b"):
        path = tmp_path / f"{name}.npy"
        content = path.read_bytes()
        for place in range(128):
            for byte in b"(\"'[{\\\0\xff9e":
                path.write_bytes(content[:place] + bytes([byte]) + content[place + 1 :])
                try:
                    StoredFolder(tmp_path, verify=False).array(name)
                except FormatError as error:
                    assert f"{name}.npy" in str(error)  # noqa: PT017
                    refused += 1
    assert refused > 1000


def test_files_outside_the_manifest_are_not_read(tmp_path):
    """A file that the manifest does not list is not part of the index."""
    write_folder(tmp_path, {}, {"a": np.zeros(4)}, {})
    np.save(tmp_path / "b.npy", np.zeros(2))
    with pytest.raises(FormatError, match="lists no b"):
        StoredFolder(tmp_path, verify=True).array("b")


def stored_in(folder, records):
    arrays, files = records.stored()
    write_folder(folder, {}, arrays, files)
    return StoredRecords(StoredFolder(folder, verify=True))


def test_graphs_with_and_without_coordinates_are_read_back(tmp_path):
    """Graphs in two, three and no dimensions keep edges, coordinates, name, source, unit and system."""
    metadata = [{"city": "Ufa", "n": 1}, {}, {"nested": [1, {"a": None}]}]
    records = stored_in(tmp_path, Records(["a", "ä \n", "c"], metadata, GRAPHS))
    assert records.names() == ["a", "ä \n", "c"]
    assert [records.facts(i) for i in range(3)] == metadata
    for position, graph in enumerate(GRAPHS):
        read = records.graph(position)
        assert read == graph
        for key in ("name", "source", "unit", "crs"):
            assert getattr(read, key) == getattr(graph, key)
        np.testing.assert_equal(read.coordinates, graph.coordinates)


def test_records_without_graphs_have_names(tmp_path):
    """Records of vectors have names and no graphs."""
    records = stored_in(tmp_path, Records(["a", "b"], None, None))
    assert records.names() == ["a", "b"]
    assert records.facts(1) == {}
    assert not records.has_graphs


@pytest.mark.parametrize(
    "line", [b"{}", b'{"id": 3, "metadata": {}}', b'{"id": "a", "metadata": []}', b"[]", b"{"]
)
def test_records_that_are_none_are_refused(tmp_path, line):
    """A line that is no record is an error with its position."""
    arrays = {"record_ends": np.array([len(line) + 1])}
    write_folder(tmp_path, {}, arrays, {RECORDS_FILE: lambda path: path.write_bytes(line + b"\n")})
    with pytest.raises(tt.FormatError, match="record 0"):
        StoredRecords(StoredFolder(tmp_path, verify=True)).name(0)


def test_graphs_of_a_file_are_checked_like_input(tmp_path):
    """A stored edge of negative length, or to a node that is not there, is an error."""
    arrays, files = Records(["a", "b", "c"], None, GRAPHS).stored()
    for name, value in (("length", -1.0), ("head", 7)):
        changed = arrays[name].copy()
        changed[0] = value
        write_folder(tmp_path, {}, arrays | {name: changed}, files)
        with pytest.raises(tt.InvalidGraphError):
            StoredRecords(StoredFolder(tmp_path, verify=True)).graph(0)


@pytest.fixture(scope="module")
def graphs():
    made = list(street_patterns(4, radius=120, seed=1).graphs)
    return [*made, made[2], tt.MetricGraph([0], [1], [2.0], name="tree", unit="m")]


@pytest.fixture(scope="module", params=[(kernel, "exact") for kernel in KERNELS] + [("ttm", "hnsw")])
def stored(request, graphs, tmp_path_factory):
    """Return an index and the folder that it was saved to."""
    kernel, method = request.param
    metadata = [{"row": i} for i in range(len(graphs))]
    index = tt.GraphIndex(kernel, method=method).fit(graphs, metadata=metadata)
    return index, index.save(tmp_path_factory.mktemp(kernel) / "index")


@pytest.fixture
def folder(stored, tmp_path):
    """Return a copy of the folder, to damage."""
    copy = tmp_path / "copy"
    copy.mkdir()
    for file in stored[1].iterdir():
        (copy / file.name).write_bytes(file.read_bytes())
    return copy


def forge(folder):
    """Write the checksums anew, as somebody would who means harm."""
    manifest = json.loads((folder / "index.json").read_text())
    for name, facts in manifest["files"].items():
        content = (folder / name).read_bytes()
        facts |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
    manifest["checksum"] = _checksum(manifest)
    (folder / "index.json").write_text(json.dumps(manifest))


def change(folder, **values):
    """Change values of the manifest, with its checksum."""
    manifest = json.loads((folder / "index.json").read_text())
    manifest |= values
    manifest["checksum"] = _checksum(manifest)
    (folder / "index.json").write_text(json.dumps(manifest))


def test_loaded_index_gives_the_same(stored, graphs):
    """Distances, indices, names, metadata, graphs and recall are those of before, bit for bit."""
    index, folder = stored
    loaded = tt.GraphIndex.load(folder, n_jobs=2)
    for before, after in zip(index.query(graphs, 5), loaded.query(graphs, 5), strict=True):
        assert before.tolist() == after.tolist()
    assert loaded.ids_ == index.ids_
    assert loaded.record(3) == {"id": index.ids_[3], "row": 3}
    for position, graph in enumerate(graphs):
        same = loaded.graph(position)
        assert same == graph
        assert (same.name, same.unit) == (graph.name, graph.unit)
        assert (same.coordinates is None) == (graph.coordinates is None)
        if graph.coordinates is not None:
            assert same.coordinates.tolist() == graph.coordinates.tolist()
    assert getattr(loaded, "recall_", None) == getattr(index, "recall_", None)
    assert (loaded.kernel.entry.name, loaded.method) == (index.kernel, index.method)
    with pytest.raises(tt.InvalidGraphError, match="units"):
        loaded.query(graphs[0].replace(unit="km"), 1)


def test_loaded_index_is_saved_again(stored, tmp_path):
    """A loaded index has the same files when it is saved, also over itself."""
    loaded = tt.GraphIndex.load(stored[1])
    again = loaded.save(tmp_path / "again")
    names = {file.name for file in stored[1].iterdir()}
    assert {file.name for file in again.iterdir()} == names
    for name in names - {"index.json"}:
        assert (again / name).read_bytes() == (stored[1] / name).read_bytes()
    tt.GraphIndex.load(again).save(again)
    assert tt.GraphIndex.load(again).ids_ == loaded.ids_


def test_arrays_are_mapped_not_read(stored):
    """Large arrays of a loaded index are views of files, and cannot be written to."""
    collection = tt.GraphIndex.load(stored[1], verify=False).collection_
    array = collection.vectors if hasattr(collection, "vectors") else collection.entries
    assert isinstance(array.base, np.memmap)
    assert not array.flags.writeable


def test_every_damaged_byte_is_noticed(stored, folder):
    """A file that was cut, extended, changed in one bit or lost is named in the error."""
    rng = np.random.default_rng(0)
    for path in sorted(folder.iterdir()):
        content = path.read_bytes()
        changed = bytearray(content)
        changed[int(rng.integers(len(changed)))] ^= 1 << int(rng.integers(8))
        # the last byte of the manifest is the end of its line
        for damaged in (content[:-2], content + b"\0", b"", bytes(changed)):
            path.write_bytes(damaged)
            with pytest.raises(tt.FormatError, match=path.name.split(".")[0]):
                tt.GraphIndex.load(folder)
        path.unlink()
        with pytest.raises((tt.FormatError, tt.DataNotFoundError), match=path.name):
            tt.GraphIndex.load(folder)
        path.write_bytes(content)
    assert tt.GraphIndex.load(folder).n_graphs_ == stored[0].n_graphs_


def test_forged_arrays_never_crash(stored, folder, graphs):
    """Arrays of other values, types and shapes under right checksums give results or errors, no crash."""
    rng = np.random.default_rng(1)
    originals = {path: path.read_bytes() for path in sorted(folder.glob("*.npy"))}
    for path, original in originals.items():
        array = np.load(path)
        forged = [
            array[:-1],
            np.concatenate([array, array[:1]]),
            array.reshape(-1)[:1].reshape((1,) * array.ndim),
            array.astype(np.int32),
            array.astype(object),
            array[..., None],
            np.full_like(array, -1),
            np.full_like(array, 2**62) if array.dtype.kind == "i" else np.full_like(array, np.nan),
            np.full_like(array, np.inf) if array.dtype.kind == "f" else array + 1,
            rng.permutation(array.ravel()).reshape(array.shape),
        ]
        for content in forged:
            np.save(path, content)
            forge(folder)
            try:
                loaded = tt.GraphIndex.load(folder)
                distances, indices = loaded.query(graphs[:3], 3)
                loaded.query_radius(graphs[0], float(distances[0, -1]))
                assert np.all((indices >= 0) & (indices < loaded.n_graphs_))
                [loaded.graph(i) for i in range(loaded.n_graphs_)]
                loaded.ids_  # noqa: B018  (reads every record)
            except tt.TorelliError:
                pass
        path.write_bytes(original)
    forge(folder)
    assert tt.GraphIndex.load(folder).query(graphs[0], 1)[1].tolist() == [0]


@pytest.mark.parametrize(
    "values",
    [
        {"format": "zip"},
        {"version": 2},
        {"kernel": "wl"},
        {"kernel": 3},
        {"options": {"depth": "deep", "model": 3}},
        {"options": {"__class__": 1}},
        {"length": None},
        {"method": "pickle"},
        {"ef": "many"},
        {"ef": -3},
        {"seed": 0.5},
        {"unit": 3},
        {"recall": "all"},
        {"fitted": ["../../etc/passwd"]},
        {"fitted": None},
        {"files": []},
        {"files": {}},
    ],
)
def test_forged_manifests_are_refused(folder, values):
    """A manifest that says what no index says is an error, or is not used."""
    change(folder, **values)
    with pytest.raises(tt.TorelliError):
        tt.GraphIndex.load(folder).query(tt.MetricGraph([0, 0], [0, 0], [1.0, 2.0], unit="m"), 1)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"a": 1}', b"[" * 100_000])
def test_files_that_are_no_manifest_are_refused(folder, content):
    """Anything else in place of the manifest is an error."""
    (folder / "index.json").write_bytes(content)
    with pytest.raises(tt.FormatError, match=r"index\.json"):
        tt.GraphIndex.load(folder)


def test_missing_folders_are_named(tmp_path):
    """A folder that is missing or holds no index is named with what to do."""
    with pytest.raises(tt.DataNotFoundError, match="no index"):
        tt.GraphIndex.load(tmp_path / "nowhere")
    with pytest.raises(tt.DataNotFoundError, match="torelli index"):
        tt.GraphIndex.load(tmp_path)


def test_vectors_without_graphs_are_saved(tmp_path):
    """An index of vectors has names, and says that it has no graphs."""
    X = np.random.default_rng(0).normal(size=(30, 120)).astype(np.float32)
    index = tt.GraphIndex.from_vectors(X, ids=[f"v{i}" for i in range(30)], method="hnsw")
    loaded = tt.GraphIndex.load(index.save(tmp_path / "vectors"))
    assert loaded.query(X[:2], 4)[1].tolist() == index.query(X[:2], 4)[1].tolist()
    assert loaded.record(4) == {"id": "v4"}
    with pytest.raises(tt.InvalidOptionError, match="no graphs"):
        loaded.graph(0)


def test_metadata_that_json_cannot_hold_is_named(tmp_path):
    """Metadata has to be plain values; the graph whose are not is named."""
    rings = [tt.MetricGraph([0], [0], [length]) for length in (1.0, 2.0)]
    index = tt.GraphIndex("tte").fit(rings, metadata=[{}, {"bad": {1, 2}}])
    with pytest.raises(tt.InvalidOptionError, match="graph 1"):
        index.save(tmp_path / "x")
    assert not (tmp_path / "x" / "index.json").exists()


def test_options_survive(tmp_path):
    """An index by a kernel with options loads with them."""
    trees = [tt.MetricGraph([0], [1], [length]) for length in (1.0, 2.0, 5.0)]
    index = tt.GraphIndex(tt.TTWKernel(bridges="double", max_genus=np.int64(4))).fit(trees)
    loaded = tt.GraphIndex.load(index.save(tmp_path / "x"))
    assert (loaded.kernel.bridges, loaded.kernel.max_genus) == ("double", 4)
    assert loaded.query(trees[2], 3)[1].tolist() == [2, 1, 0]
