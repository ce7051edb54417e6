"""Model files from anybody: what no model of ours holds is an error that names the file, never a crash."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR

import torelli as tt
from test_kernels import data
from torelli.cli import main
from torelli.persist import load_model, save_model

pytest.importorskip("skops")


class SkopsFile:
    """A stored model whose parts can be exchanged; a path has attributes and positions in lists."""

    def __init__(self, path):
        self.path = path
        with zipfile.ZipFile(path) as archive:
            self.members = {name: archive.read(name) for name in archive.namelist()}
        self.schema = json.loads(self.members.pop("schema.json"))

    def node(self, *path):
        """Return the part at a path."""
        node = self.schema["content"]["model"]
        for step in path:
            while not (isinstance(node, list) or (isinstance(node, dict) and step in node)):
                node = node["content"]
            node = node[step]
        return node

    def put(self, value, *path):
        """Replace a part by an array or by what JSON can hold."""
        node = self.node(*path)
        node.clear()
        if isinstance(value, np.ndarray) and value.dtype != object:
            buffer = io.BytesIO()
            np.save(buffer, value)
            name = f"{len(self.members)}-new.npy"
            self.members[name] = buffer.getvalue()
            node |= {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"}
            node |= {"type": "numpy", "file": name, "__id__": -len(self.members)}
        else:
            items = value.tolist() if isinstance(value, np.ndarray) else value
            node |= _json_node(items)
            if isinstance(value, np.ndarray):
                content = [_json_node(item) for item in items]
                node |= {"__class__": "ndarray", "__module__": "numpy", "__loader__": "NdArrayNode"}
                node |= {"type": "json", "content": content, "shape": _json_node(list(value.shape))}
        self.write()

    def drop(self, key, *path):
        """Remove an attribute."""
        node = self.node(*path)
        while key not in node:
            node = node["content"]
        position = list(node).index(key)
        del node[key]
        return position

    def write(self):
        """Write the file anew."""
        with zipfile.ZipFile(self.path, "w") as archive:
            archive.writestr("schema.json", json.dumps(self.schema))
            for name, content in self.members.items():
                archive.writestr(name, content)


def _json_node(value):
    node = {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode"}
    return {**node, "content": json.dumps(value), "is_json": True, "__id__": -1 - id(value)}


@pytest.fixture
def stored(tmp_path):
    """Return what stores a model and opens the file for editing."""

    def store(model, name="m.skops"):
        return SkopsFile(save_model(model, tmp_path / name))

    return store


GRAPHS, LABELS = data(8)
FIRST = ("graphs_", 0)


def graphs_with_points():
    return [graph.replace(coordinates=np.zeros((graph.n_nodes, 2))) for graph in GRAPHS]


def n_edges(change=0):
    return GRAPHS[0].n_edges + change


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("head", [1, 2**40, 1], "differ in size"),
        ("head", np.full(n_edges(), 2**40), "end point out of range for"),
        ("tail", np.full(n_edges(), -1), "end point out of range for"),
        ("tail", np.full(n_edges(), 0.5), "end points are not whole numbers"),
        ("tail", np.full(n_edges(), np.nan), "end points are not whole numbers"),
        ("tail", np.zeros((n_edges(), 1), dtype=np.int64), "must be one-dimensional|arrays of one size"),
        ("tail", np.array([None] * n_edges(), dtype=object), "end points have type object"),
        ("tail", np.zeros(n_edges(), dtype=complex), "end points have type complex128"),
        ("tail", None, "arrays differ in size"),
        ("head", np.zeros(n_edges(-1), dtype=np.int64), "the arrays differ in size"),
        ("length", np.ones(n_edges(1)), "the arrays differ in size"),
        ("length", np.full(n_edges(), np.nan), "length is NaN"),
        ("length", np.full(n_edges(), -1.0), "length is negative"),
        ("length", np.zeros(n_edges()), "length is zero"),
        ("length", np.full(n_edges(), np.inf), "length is infinite"),
        ("length", np.full(n_edges(), 1e308), "total length overflows"),
        ("length", np.full(n_edges(), 1j), "length is not a number"),
        ("length", np.ones((n_edges(), 2)), "arrays differ in size|one-dimensional"),
        ("length", np.array(["x"] * n_edges(), dtype=object), "length is not a number"),
        ("length", "long", "arrays differ in size"),
        ("n_nodes", 1, "end point out of range for 1 nodes"),
        ("n_nodes", -5, "n_nodes is -5"),
        ("n_nodes", 2.5, r"n_nodes is 2\.5"),
        ("n_nodes", "many", "n_nodes is 'many'"),
        ("n_nodes", 2**40, "there are 1,099,511,627,776 nodes, more than the limit of"),
        ("n_nodes", 10**30, "nodes, more than the limit of"),
        ("n_nodes", 2**31, "a graph of 2,147,483,648 nodes would take 215 GB"),
        ("coordinates", np.zeros((2, 2)), r"coordinates have shape \(2, 2\)"),
        ("coordinates", np.array([["a", "b"]]), "coordinates have shape"),
        ("node_ids", ["a"], "there are 1 node_ids for"),
        ("node_ids", 7, "TypeError"),
    ],
)
def test_a_graph_is_checked_as_by_the_constructor(stored, key, value, message, monkeypatch):
    """Whatever arrays a stored graph has, the error is that of bad input, with the name of the file."""
    monkeypatch.setattr("torelli._memory.available_bytes", lambda: 10**11)
    file = stored(tt.TTEKernel(gamma=1.0).fit(graphs_with_points()))
    file.put(value, *FIRST, key)
    with pytest.raises(tt.FormatError, match=rf"m\.skops: .*(?:{message})"):
        load_model(file.path)


def test_dtypes_that_hold_the_same_numbers_are_converted(stored):
    """Numbers in another type or byte order are the same graph."""
    kernel = tt.TTEKernel(gamma=1.0).fit(GRAPHS)
    file = stored(kernel)
    file.put(GRAPHS[0].tail.astype(">i2"), *FIRST, "tail")
    file.put(GRAPHS[0].head.astype(np.float64), *FIRST, "head")
    file.put(GRAPHS[0].length.astype(">f8"), *FIRST, "length")
    again = load_model(file.path)[0]
    assert again.graphs_[0] == GRAPHS[0]
    assert np.array_equal(again.transform(GRAPHS), kernel.transform(GRAPHS))


def combined():
    statistics = make_pipeline(tt.StreetStatistics(["genus"]), tt.FeatureKernel())
    return tt.CombinedKernel([("tts", tt.TTSKernel()), ("statistics", statistics)], psd="clip")


@pytest.mark.parametrize(
    ("make", "path", "value", "message"),
    [
        (tt.TTWKernel, ("graphs_",), [1, 2], "graphs_ of a stored TTWKernel is not a list of metric graphs"),
        (tt.TTWKernel, ("graphs_",), [], "graphs_ of a stored TTWKernel is not a list of metric graphs"),
        (tt.TTWKernel, ("graphs_",), None, "graphs_ of a stored TTWKernel is not a list of metric graphs"),
        (tt.TTWKernel, ("gamma_",), -1.0, "gamma_ of a stored TTWKernel is not a positive number"),
        (tt.TTWKernel, ("gamma_",), "median", "gamma_ of a stored TTWKernel is not a positive number"),
        (tt.TTWKernel, ("gamma_",), np.ones(3), "gamma_ of a stored TTWKernel is not a positive number"),
        (tt.TTWKernel, ("psd_",), "polish", "psd_ of a stored TTWKernel is not one of"),
        (tt.TTWKernel, ("psd_",), "clip", "projection_ of a stored TTWKernel is not a 8 by 8 matrix"),
        (tt.TTWKernel, ("seed",), [0], "seed of a stored TTWKernel is not text, a number or None"),
        (tt.TTWKernel, ("n_jobs",), "all", "n_jobs of a stored TTWKernel is not None or an integer"),
        (lambda: tt.TTEKernel(psd="flip"), ("projection_",), np.ones((3000, 1)), "projection_ of a stored"),
        (lambda: tt.TTEKernel(psd="flip"), ("projection_",), np.full((8, 8), np.nan), "projection_ of a"),
        (lambda: tt.TTEKernel(psd="flip"), ("projection_",), np.ones((8, 8), int), "projection_ of a"),
        (
            lambda: tt.TTSKernel(psd="shift"),
            ("shift_",),
            "x",
            "shift_ of a stored TTSKernel is not 0 or more",
        ),
        (combined, ("kernels_",), [], "kernels_ of a stored CombinedKernel is not a list of pairs"),
        (combined, ("kernels_",), [["a", 1]], "kernels_ of a stored CombinedKernel is not a list of pairs"),
        (combined, ("weights_",), np.ones(3), "weights_ of a stored CombinedKernel is not 2 numbers"),
        (combined, ("weights_",), np.array([-1.0, 2.0]), "weights_ of a stored CombinedKernel is not 2 num"),
        (combined, ("combine_",), "quotient", "combine_ of a stored CombinedKernel is not one of"),
        (combined, ("projection_",), "x", "projection_ of a stored CombinedKernel is not a matrix"),
        (combined, ("kernels_", 1, 1, "steps", 1, 1, "rows_"), np.ones(3), "rows_ of a stored FeatureKernel"),
        (combined, ("kernels_", 1, 1, "steps", 1, 1, "gamma_"), 0.0, "gamma_ of a stored FeatureKernel"),
        (combined, ("kernels_", 1, 1, "steps", 0, 1, "features"), ["colour"], "unknown feature 'colour'"),
        (combined, ("kernels_", 1, 1, "steps", 0, 1, "features"), [[1]], "unknown feature"),
        (combined, ("kernels_", 1, 1, "steps", 0, 1, "area"), None, "area is None"),
        (combined, ("kernels_", 0, 1, "graphs_", 3, "head"), [1, 2**40], "the arrays differ in size"),
        (tt.MetricStatistics, ("scale",), "x", "scale is 'x': use a positive length"),
    ],
)
def test_what_was_fitted_is_checked(stored, make, path, value, message):
    """Attributes of another type, shape or range are named, with the file and the remedy."""
    file = stored(make().fit(GRAPHS))
    file.put(value, *path)
    with pytest.raises(tt.FormatError, match=rf"m\.skops: .*{message}"):
        load_model(file.path)


def test_methods_are_not_hidden_and_parameters_not_missing(stored):
    """State that would change what a class does, or lacks what it needs, is refused."""
    file = stored(tt.TTEKernel(gamma=1.0).fit(GRAPHS))
    state = file.schema["content"]["model"]["content"]
    state["content"]["entry"] = _json_node("ttw")
    state["key_types"]["content"].append(state["key_types"]["content"][0])
    file.write()
    with pytest.raises(tt.FormatError, match=r"m\.skops: a stored TTEKernel hides entry of its class"):
        load_model(file.path)
    position = file.drop("entry")
    del state["key_types"]["content"][position]
    position = file.drop("length")
    del state["key_types"]["content"][position]
    file.write()
    with pytest.raises(
        tt.FormatError, match=r"m\.skops: a stored TTEKernel has no length; fit the model again"
    ):
        load_model(file.path)


@pytest.mark.parametrize("path", [FIRST, ()])
def test_objects_without_state_are_refused(stored, path):
    """A graph or kernel of which the file has the class only is named."""
    file = stored(tt.TTEKernel(gamma=1.0).fit(GRAPHS))
    node = file.node(*path)
    node["content"] = _json_node(None)
    file.write()
    with pytest.raises(
        tt.FormatError, match=rf"m\.skops: it has an empty {node['__class__']}; fit the model"
    ):
        load_model(file.path)


def test_a_repair_for_other_graphs_is_refused_when_it_is_used(stored):
    """A projection that does not fit the members is an error, not a wrong matrix."""
    file = stored(combined().fit(GRAPHS))
    file.put(np.eye(5), "projection_")
    with pytest.raises(tt.InvalidMatrixError, match=r"the repair has shape \(5, 5\).*8 training graphs"):
        load_model(file.path)[0].transform(GRAPHS)


def test_derived_state_is_not_stored(stored):
    """The file has the training graphs, not their matrices, and the loaded kernel gives the same values."""
    kernel = tt.TTEKernel(gamma=1.0).fit(GRAPHS)
    expected = kernel.transform(GRAPHS[:3])
    file = stored(kernel)
    assert "Representation" not in json.dumps(file.schema)
    assert len(file.members) == 3 * len(GRAPHS)
    assert np.array_equal(load_model(file.path)[0].transform(GRAPHS[:3]), expected)


_KEPT = """
import sys
from torelli import persist
persist._TRUSTED += ("torelli.representation.Representation",)
model, _ = persist.load_model(sys.argv[1])
print(model.transform(model.graphs_).round(3).tolist())
"""


def test_matrices_in_a_file_are_not_used(stored):
    """Kept matrices of a hand-made file, here 3000 by 1, never reach compiled code."""
    kernel = tt.TTEKernel(gamma=1.0).fit(GRAPHS)
    file = stored(kernel)
    state = file.schema["content"]["model"]["content"]
    keeper = {
        "__class__": "Representation",
        "__module__": "torelli.representation",
        "__loader__": "ObjectNode",
    }
    kept = {"__class__": "list", "__module__": "builtins", "__loader__": "ListNode", "content": [{}] * 8}
    inner = {
        **_json_node(None),
        "__class__": "dict",
        "__loader__": "DictNode",
        "content": {"_of_training": kept},
    }
    inner["key_types"] = {**state["key_types"], "content": state["key_types"]["content"][:1]}
    state["content"]["_representation"] = {**keeper, "content": inner, "__id__": -77}
    state["key_types"]["content"].append(state["key_types"]["content"][0])
    kept["content"] = [_json_node(None) for _ in range(8)]
    for i in range(8):
        file.put(np.ones((3000, 1)), "_representation", "_of_training", i)
    run = subprocess.run(  # noqa: S603  (our own script)
        [sys.executable, "-c", _KEPT, str(file.path)], capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == kernel.transform(GRAPHS).round(3).tolist()
    with pytest.raises(tt.FormatError, match=r"contains torelli\.representation\.Representation"):
        load_model(file.path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("support_", np.full(8, 2**30, dtype=np.int32)),
        ("support_", np.full(8, -1, dtype=np.int32)),
        ("support_", np.zeros((2, 4), dtype=np.int32)),
        ("_n_support", np.array([2**30, 2**30], dtype=np.int32)),
        ("_n_support", np.array([8], dtype=np.int32)),
        ("_dual_coef_", np.ones((1, 2))),
        ("_intercept_", np.ones(0)),
        ("_probA", np.ones(7)),
        ("shape_fit_", [1, 1]),
        ("classes_", np.arange(9)),
        ("kernel", "linear"),
        ("_sparse", True),
    ],
)
def test_support_vector_machines_are_checked(stored, key, value):
    """Libsvm reads its arrays without a look: those that do not belong together are refused."""
    model = make_pipeline(tt.TTSKernel(gamma=1e-9), SVC(kernel="precomputed")).fit(GRAPHS, LABELS)
    assert len(model[1].support_) == 8
    file = stored(model)
    assert load_model(file.path)[0].predict(GRAPHS).shape == (8,)
    file.put(value, "steps", 1, 1, key)
    with pytest.raises(tt.FormatError, match=r"m\.skops: the arrays of its SVC do not belong together"):
        load_model(file.path)


@pytest.mark.parametrize("kernel", [tt.GraphRBF("tte", gamma=0.1), tt.GraphRBF() + WhiteKernel()])
def test_gaussian_processes_are_stored(stored, kernel):
    """A Gaussian process on graphs predicts as before, and its kernel is checked like the others."""
    model = GaussianProcessRegressor(kernel, optimizer=None).fit(GRAPHS, LABELS)
    file = stored(model)
    assert np.allclose(load_model(file.path)[0].predict(GRAPHS), model.predict(GRAPHS))
    file.put(-1.0, "kernel_", *(() if isinstance(kernel, tt.GraphRBF) else ("k1",)), "gamma")
    with pytest.raises(tt.FormatError, match="gamma of a stored GraphRBF is not a positive number"):
        load_model(file.path)


def test_other_models_are_stored(stored):
    """Matrices and regression by support vectors pass the same checks."""
    model = make_pipeline(tt.TTSKernel(), SVR(kernel="precomputed")).fit(GRAPHS, np.arange(8.0))
    assert np.allclose(load_model(stored(model).path)[0].predict(GRAPHS), model.predict(GRAPHS))
    assert load_model(stored(tt.TorelliMap(max_genus=2).fit(GRAPHS)).path)[0].max_genus == 2
    assert load_model(stored(tt.TTWKernel(gamma=3.0)).path)[0].gamma == 3.0


def test_a_file_that_memory_cannot_hold_is_refused(stored, monkeypatch):
    """The unpacked size is known before anything is unpacked."""
    file = stored(tt.TTSKernel().fit(GRAPHS))
    monkeypatch.setattr("torelli._memory.available_bytes", lambda: 1000)
    monkeypatch.setattr("torelli._memory._SMALL", 0)
    with pytest.raises(tt.RequestTooLargeError, match=r"m\.skops, unpacked, would take .* kB, 1 kB are free"):
        load_model(file.path)


def test_a_model_of_something_else_is_named(stored, tmp_path, capsys):
    """A map needs a classifier that says of which windows it is."""
    file = stored(tt.TTSKernel().fit(GRAPHS))
    assert main(["urn", "classify", "nowhere.graphml", "--model", str(file.path)]) == 2
    assert "m.skops: not a classifier of windows" in capsys.readouterr().err
