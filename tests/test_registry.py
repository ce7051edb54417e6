"""A kernel that is registered is found wherever a kernel can be named; so is one without Torelli matrices."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import WhiteKernel
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import torelli as tt
from places import two_towns
from test_kernels import data
from torelli._estimators import GraphFeatures
from torelli._registry import KernelClass, KernelRegistry, default_kernels
from torelli.classification import classify
from torelli.cli import build_parser, main
from torelli.explore import explorer_page, page_data
from torelli.persist import load_model, save_model
from torelli.webpage import unpack

NAMES = ["size", "ttm"]


class SizeVectors(GraphFeatures):
    """Total length and genus of each graph."""

    def __init__(self, power=1.0):
        self.power = power

    def _fit(self, X):
        pass

    def transform(self, X):
        """Return the vectors."""
        return np.array([[graph.total_length**self.power, graph.genus] for graph in X])

    def _feature_names(self):
        return ["total_length", "genus"]


class SizeKernel(tt.GraphKernel):
    """A kernel on total length and genus."""

    entry = tt.KernelEntry(
        "size", "total length and genus", "Euclidean distance of total length and genus", SizeVectors
    )


@pytest.fixture(autouse=True)
def _registered(monkeypatch):
    """Register the kernel for each test: one class, one line."""
    monkeypatch.setitem(tt.KERNELS, "size", SizeKernel)


@pytest.fixture
def records(tmp_path):
    """Write labelled graphs as JSON lines."""
    graphs, y = data(24)
    path = tmp_path / "graphs.jsonl"
    lines = [
        {
            "edges": [[int(a), int(b), float(x)] for a, b, x in zip(*arrays(graph), strict=True)],
            "kind": f"k{k}",
        }
        for graph, k in zip(graphs, y, strict=True)
    ]
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def arrays(graph):
    return graph.tail, graph.head, graph.length


@pytest.mark.parametrize("name", NAMES)
def test_the_class_is_an_estimator(name):
    """The class that the registry gives is a kernel that clones, fits, transforms and has gamma as said."""
    graphs, y = data(20)
    kernel = tt.KERNELS[name](gamma="median", n_jobs=2)
    K = kernel.fit_transform(graphs)
    assert np.array_equal(K, K.T)
    assert np.median(K[np.triu_indices_from(K, 1)]) == pytest.approx(0.5, abs=0.01)
    assert np.allclose(kernel.transform(graphs[3:5]), K[3:5], rtol=0, atol=1e-12)
    assert clone(kernel).get_params() == kernel.get_params()
    assert make_pipeline(clone(kernel), SVC(kernel="precomputed")).fit(graphs, y).score(graphs, y) > 0.8


def test_the_formula_is_that_of_representation_and_distance():
    """The kernel on vectors is exp(-gamma |x - y|²)."""
    graphs, _ = data(6)
    x = SizeVectors().transform(graphs)
    squared = ((x[:, None] - x) ** 2).sum(axis=2)
    assert np.allclose(SizeKernel(gamma=0.1).fit_transform(graphs), np.exp(-0.1 * squared))


def test_the_command_line_offers_it():
    """Every command that takes kernels has it among its choices, and its defaults stay."""
    for command, required in (
        ("classify", []),
        ("explore", []),
        ("urn", ["train", "m.skops", "--patterns", "2"]),
    ):
        several = build_parser().parse_args([command, *required, "--kernel", "size"])
        assert several.kernel in ("size", ["size"])
        assert build_parser().parse_args([command, *required]).kernel in (None, ["ttm", "ttw", "tte", "tts"])
    with pytest.raises(SystemExit):
        build_parser().parse_args(["classify", "--kernel", "unheard-of"])


@pytest.mark.parametrize("name", list(tt.KERNELS))
def test_the_registry_says_what_the_entries_say(name):
    """A kernel of the package is listed under its own name, and is a default if its entry says so."""
    entry = tt.KERNELS[name].entry
    assert entry.name == name
    assert entry.default == (name in default_kernels())


def test_the_registry_is_a_mapping():
    """Kernels are added, replaced, listed and removed as in a dictionary; their order is kept."""
    registry = KernelRegistry({"tte": KernelClass("TTEKernel"), "ttw": KernelClass("TTWKernel")})
    registry["size"] = SizeKernel
    assert list(registry) == ["tte", "ttw", "size"]
    assert dict(registry) == {"tte": tt.TTEKernel, "ttw": tt.TTWKernel, "size": SizeKernel}
    assert repr(registry) == "<kernels tte, ttw, size>"
    assert registry.pop("size") is SizeKernel
    assert "size" not in registry
    assert registry.get("size") is None
    with pytest.raises(KeyError):
        del registry["size"]


def test_defaults_follow_the_entries(monkeypatch):
    """A kernel whose entry says so is among the defaults of commands and of `classify`."""
    assert default_kernels() == ["ttm", "ttw", "tte", "tts"]
    entry = tt.KernelEntry("size", "size", "size", SizeVectors, default=True)
    monkeypatch.setattr(SizeKernel, "entry", entry)
    assert default_kernels() == ["ttm", "ttw", "tte", "tts", "size"]
    assert build_parser().parse_args(["classify"]).kernel == default_kernels()
    graphs, y = data(12)
    assert list(classify(graphs, y, folds=3).kernels) == default_kernels()


def test_a_classification_and_its_report_name_it(records, tmp_path, capsys):
    """``torelli classify --kernel`` runs, prints, stores and reports the kernels that are named."""
    pytest.importorskip("plotly")
    page, folder = tmp_path / "report.html", tmp_path / "result"
    files = ["--out", str(folder), "--report", str(page)]
    options = ["--label", "kind", "--folds", "3", "--kernel", *NAMES]
    assert main(["classify", str(records), *options, *files]) == 0
    printed = capsys.readouterr().out
    assert "SIZE" in printed
    assert "TTM" in printed
    assert "TTW" not in printed
    text = page.read_text(encoding="utf-8")
    assert 'value="size"' in text
    assert 'value="ttm"' in text
    assert main(["report", str(folder)]) == 0
    assert 'value="size"' in (folder / "report.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["size", "ttm", "tts"])
def test_nothing_is_learned_from_the_graphs_to_predict(name):
    """`classify` predicts as a pipeline does that is fitted to the training graphs of each fold."""
    graphs, y = data(30)
    outcome = classify(graphs, y, metrics=[name], folds=5)
    model = make_pipeline(tt.KERNELS[name](), SVC(kernel="precomputed"))
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    assert outcome.scores[0].predicted.tolist() == cross_val_predict(model, graphs, y, cv=folds).tolist()


def test_the_explorer_shows_it():
    """The explorer's page has the kernels that are named, with their titles and arrays."""
    pytest.importorskip("plotly")
    networks = two_towns(12)
    data = page_data.page_data(networks, kernels=["size", "ttm", "tte"], max_genus=3)
    assert [(kernel["key"], kernel["title"]) for kernel in data["kernels"]] == [
        ("size", "total length and genus"),
        ("ttm", "tropical Torelli-measure"),
        ("tte", "tropical Torelli-Euclidean"),
    ]
    assert {"size.near", "ttm.near", "tte.near"} <= set(unpack(data["arrays"]))
    page = explorer_page(networks, kernels=["size"])
    assert "SIZE: Euclidean distance of total length and genus." in page
    assert 'value="ttw"' not in page


@pytest.mark.parametrize("name", NAMES)
def test_a_gaussian_process_takes_it(name):
    """`GraphRBF` takes it by name, with one kernel matrix for training and new graphs, also when stored."""
    graphs, _ = data(40)
    y = np.array([np.log(graph.total_length) for graph in graphs])
    kernel = tt.GraphRBF.median(graphs[:30], name)
    K = kernel(graphs)
    assert np.allclose(kernel(graphs[30:], graphs[:30]), K[30:, :30], rtol=0, atol=1e-12)
    assert np.allclose(kernel(graphs[30:]), K[30:, 30:], rtol=0, atol=1e-12)
    assert clone(kernel) == kernel
    model = GaussianProcessRegressor(kernel + WhiteKernel(1e-4, "fixed"), normalize_y=True)
    assert model.fit(graphs[:30], y[:30]).score(graphs[30:], y[30:]) > 0.5


def test_options_of_a_kernel_are_options_of_the_process():
    """Options are those of the named kernel; others, and training graphs that are missing, are errors."""
    graphs, _ = data(8)
    kernel = tt.GraphRBF.median(graphs, "ttm", along="currents", n_features=16)
    assert kernel.get_params()["along"] == "currents"
    assert not np.array_equal(kernel(graphs), clone(kernel).set_params(along="junctions")(graphs))
    assert tt.GraphRBF("size", power=0.0)(graphs[:1]) == 1.0
    with pytest.raises(tt.InvalidOptionError, match=r"kernel 'ttm'.*'bridges'.*'along'"):
        tt.GraphRBF.median(graphs, "ttm", bridges="double")
    with pytest.raises(tt.InvalidOptionError, match="'ttm' learns from graphs: give training=graphs"):
        tt.GraphRBF("ttm")(graphs)
    with pytest.raises(tt.InvalidOptionError, match="unknown kernel 'wl'"):
        tt.GraphRBF("wl")(graphs)


def test_combinations_take_names():
    """`CombinedKernel` takes kernels by name, whose parameters can be set like those of others."""
    graphs, _ = data(8)
    named = tt.CombinedKernel(["size", "ttm", ("cycles", "tts")])
    objects = tt.CombinedKernel([SizeKernel(), tt.TTMKernel(), ("cycles", tt.TTSKernel())])
    assert np.array_equal(named.fit_transform(graphs), objects.fit_transform(graphs))
    assert named.get_params(deep=False)["kernels"] == ["size", "ttm", ("cycles", "tts")]
    named.set_params(sizekernel__gamma=3.0, cycles__bridges="double")
    assert clone(named).get_params()["sizekernel__gamma"] == 3.0
    assert clone(named).get_params()["cycles__bridges"] == "double"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("psd", [None, "clip"])
def test_models_with_it_are_stored(name, psd, tmp_path):
    """A stored model with the kernel, alone or in combination, predicts as before."""
    pytest.importorskip("skops")
    graphs, y = data(16)
    for kernel in (tt.KERNELS[name](psd=psd), tt.CombinedKernel([name, "tts"])):
        model = make_pipeline(kernel, SVC(kernel="precomputed")).fit(graphs, y)
        again, _ = load_model(save_model(model, tmp_path / "model.skops"))
        assert np.array_equal(again[0].transform(graphs[:5]), model[0].transform(graphs[:5]))
        assert again.predict(graphs).tolist() == model.predict(graphs).tolist()
    process = GaussianProcessRegressor(tt.GraphRBF.median(graphs, name), alpha=1e-3).fit(graphs, y)
    again, _ = load_model(save_model(process, tmp_path / "model.skops"))
    assert np.array_equal(again.predict(graphs), process.predict(graphs))


def test_vectors_of_the_measure_are_stored_and_checked(tmp_path):
    """A pipeline on the vectors themselves is stored too, and a file with other numbers is refused."""
    pytest.importorskip("skops")
    graphs, y = data(16)
    model = make_pipeline(tt.MeasureFeatures(n_features=8), SVC()).fit(graphs, y)
    again, _ = load_model(save_model(model, tmp_path / "model.skops"))
    assert again.predict(graphs).tolist() == model.predict(graphs).tolist()
    model[0].spread_ = np.zeros(1)
    with pytest.raises(tt.FormatError, match="spread_ of a stored MeasureFeatures is not positive"):
        load_model(save_model(model, tmp_path / "model.skops"))


def test_a_model_of_street_patterns_takes_it(tmp_path, capsys):
    """``torelli urn train --kernel`` trains and stores a model on one kernel."""
    pytest.importorskip("skops")
    for name in NAMES:
        path = tmp_path / f"{name}.skops"
        assert main(["urn", "train", str(path), "--patterns", "4", "--window", "150", "--kernel", name]) == 0
        assert load_model(path)[0][0].entry.name == name
    assert "accuracy" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["ttw", "tte", "tts", "ttm"])
def test_help_shows_the_parameters(name):
    """The documentation of a kernel's class names every parameter of its constructor."""
    kernel = tt.KERNELS[name]
    head, _, sections = kernel.__doc__.partition("Parameters\n")
    assert "kernel matrix" in head
    for parameter in kernel().get_params():
        assert parameter in sections
    assert issubclass(kernel, tt.GraphKernel)
    assert issubclass(kernel, tt.TorelliKernel) == (name != "ttm")
