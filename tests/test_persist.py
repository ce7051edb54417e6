"""Models as files."""

from __future__ import annotations

import datetime as dt
import zipfile

import joblib
import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC

import torelli as tt
from test_kernels import data
from torelli.cities import pattern_classifier
from torelli.persist import load_model, save_model

skops_io = pytest.importorskip("skops.io")


@pytest.mark.parametrize("ending", [".skops", ".joblib"])
@pytest.mark.filterwarnings("ignore:.*can run any code:torelli.DataWarning")
def test_a_model_predicts_as_before(tmp_path, ending):
    """Every kernel and transformer of ours survives, with what is known of the model."""
    graphs, y = data(20)
    features = make_pipeline(tt.StreetStatistics(["genus", "mean_length"]), tt.FeatureKernel())
    kinds = [
        *(Kernel() for Kernel in tt.KERNELS.values()),
        tt.TTWKernel(psd="clip"),
        tt.TTEKernel(max_genus=4),
        tt.CombinedKernel([tt.TTSKernel(), features]),
    ]
    for kernel in (*kinds, None):
        model = pattern_classifier() if kernel is None else make_pipeline(kernel, SVC(kernel="precomputed"))
        model.fit(graphs, np.array(["a", "b"])[y])
        path = save_model(model, tmp_path / f"model{ending}", {"r": 150.0})
        again, about = load_model(path)
        assert again.predict(graphs).tolist() == model.predict(graphs).tolist()
        assert about["r"] == 150.0
        assert about["torelli"] == tt.__version__
    assert [path.name for path in tmp_path.iterdir()] == [f"model{ending}"]


def test_a_type_that_is_not_ours_is_an_error_that_names_it(tmp_path):
    """A file with anything else in it is not loaded, whatever it claims to be."""
    path = tmp_path / "odd.skops"
    skops_io.dump({"model": dt.timedelta(3), "about": {}}, path)
    with pytest.raises(tt.FormatError, match=r"odd\.skops: contains datetime\.timedelta.*do not load it"):
        load_model(path)


def test_what_could_not_be_loaded_is_not_saved(tmp_path):
    """A search holds types that no model does; its best estimator, with options of numpy, is a model."""
    graphs = tt.datasets.street_patterns(3, radius=150, seed=0)
    steps = [("kernel", tt.TTMKernel(n_features=8)), ("svm", SVC(kernel="precomputed"))]
    options = {"kernel__depth": np.arange(1, 3), "kernel__size": np.array([0.5], np.float32)}
    search = GridSearchCV(Pipeline(steps), options, cv=2).fit(graphs.graphs, graphs.y)
    with pytest.raises(tt.InvalidOptionError, match=r"_PassthroughScorer.*save .* best_estimator_"):
        save_model(search, tmp_path / "search.skops")
    assert not list(tmp_path.iterdir())
    best = search.best_estimator_.set_params(kernel__seed=np.int64(0), kernel__n_jobs=np.int64(1))
    model, _ = load_model(save_model(best, tmp_path / "best.skops"))
    assert model.predict(graphs.graphs).tolist() == best.predict(graphs.graphs).tolist()


def test_joblib_is_taken_with_a_warning(tmp_path):
    """The warning says what may happen and what is better."""
    path = save_model([1, 2], tmp_path / "model.joblib")
    with pytest.warns(tt.DataWarning, match=r"model\.joblib: a joblib file can run any code.*prefer \.skops"):
        assert load_model(path)[0] == [1, 2]


@pytest.mark.filterwarnings("ignore:.*can run any code:torelli.DataWarning")
def test_other_files_are_refused(tmp_path):
    """Names without a known ending, missing, broken and foreign files: each is said."""
    with pytest.raises(
        tt.InvalidOptionError, match=r"model\.pkl: give a name that ends in \.skops or \.joblib"
    ):
        load_model(tmp_path / "model.pkl")
    with pytest.raises(FileNotFoundError, match="torelli urn train"):
        load_model(tmp_path / "model.skops")
    broken = tmp_path / "broken.skops"
    broken.write_bytes(b"no zip")
    with pytest.raises(tt.FormatError, match=r"broken\.skops: skops cannot read it"):
        load_model(broken)
    with zipfile.ZipFile(broken, "w") as archive:
        archive.writestr("schema.json", "{}")
    with pytest.raises(tt.FormatError, match=r"broken\.skops: skops cannot read it"):
        load_model(broken)
    joblib.dump([1], tmp_path / "list.joblib")
    with pytest.raises(tt.FormatError, match=r"list\.joblib: not a model of torelli"):
        load_model(tmp_path / "list.joblib")
