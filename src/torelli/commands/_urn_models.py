"""Training a model of street patterns, and a map of a city by it."""

from __future__ import annotations

import csv
import json
import warnings
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from torelli import plot
from torelli._errors import InvalidOptionError, NonGenericWarning
from torelli._geo import METRES_PER_DEGREE
from torelli.combine import CombinedKernel, FeatureKernel
from torelli.datasets.windows import cover, cut_windows, metres_from, middle_of
from torelli.kernels import TTSKernel, get_kernel
from torelli.statistics import MetricStatistics

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli.graph import MetricGraph

_FOLDS = 5
_COSTS = (1.0, 10.0, 100.0)


def pattern_classifier(kernel: str | None = None) -> Any:  # noqa: ANN401  (scikit-learn is untyped)
    """Return the classifier that `train` fits.

    It uses the named kernel or, without one, the spectrum with bridges times statistics of the space.
    """
    if kernel is not None:
        return make_pipeline(get_kernel(kernel)(n_jobs=-1), SVC(kernel="precomputed"))
    metric = make_pipeline(MetricStatistics(), StandardScaler(), FeatureKernel())
    combined = CombinedKernel(
        [("spectrum", TTSKernel(bridges="double", n_jobs=-1)), ("metric", metric)], combine="product"
    )
    return make_pipeline(combined, SVC(kernel="precomputed"))


def train(
    graphs: list[MetricGraph],
    y: NDArray[Any],
    groups: NDArray[np.int64] | None,
    *,
    kernel: str | None = None,
    seed: int = 0,
) -> tuple[Any, float, float]:
    """Fit the classifier with C chosen by cross-validation; return it, C, and the accuracy of that C.

    Parameters
    ----------
    graphs, y
        Windows and their labels.
    groups
        Spatial blocks that folds are not to divide, if windows overlap.
    kernel
        As for `pattern_classifier`.
    seed
        Seed of the folds.
    """
    smallest = int(np.unique(y, return_counts=True)[1].min())
    if len(np.unique(y)) < 2 or smallest < 2:  # noqa: PLR2004
        raise InvalidOptionError("a model needs two classes or more, with two windows or more of each")
    n_folds = min(_FOLDS, smallest)
    if groups is None:
        folds: Any = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    else:
        folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    # what the model does not use is not to be stored with it
    bare = [graph.replace(coordinates=None, node_ids=None, name=None, source=None) for graph in graphs]
    model = pattern_classifier(kernel)
    search = GridSearchCV(model, {"svc__C": list(_COSTS)}, cv=folds, refit=False, error_score="raise")
    with warnings.catch_warnings():
        # the fit to all windows says it once, and not for each fold
        warnings.simplefilter("ignore", NonGenericWarning)
        search.fit(bare, y, groups=groups)
    model.set_params(**search.best_params_).fit(bare, y)
    return model, float(search.best_params_["svc__C"]), float(search.best_score_)


class CityMap(NamedTuple):
    """The windows of a city: their centres (lat, lon), predicted labels, and how clear each is."""

    city: MetricGraph
    windows: list[MetricGraph]
    centres: NDArray[np.float64]
    labels: NDArray[Any]
    margins: NDArray[np.float64]
    step: float


def classify_city(model: Any, city: MetricGraph, *, r: float, cut: Any, step: float) -> CityMap:  # noqa: ANN401
    """Predict the pattern of windows that cover a city.

    Parameters
    ----------
    model
        A fitted classifier of graphs.
    city
        Streets with longitude and latitude.
    r, cut
        Radius and shape of the windows the model was trained on.
    step
        Distance between windows, in metres.
    """
    points = metres_from(city, middle_of(city))
    landmarks = cover(city, points, step)
    windows = list(cut_windows(city, points, landmarks, r, cut))
    bare = [window.replace(coordinates=None, node_ids=None) for window in windows]
    values = np.asarray(model.decision_function(bare))
    labels = model.predict(bare)
    ranked = (
        np.sort(values, axis=1) if values.ndim > 1 else np.stack([-np.abs(values), np.abs(values)], axis=1)
    )
    centres = city.coordinates[landmarks, 1::-1]  # type: ignore[index]  # metres_from has checked them
    return CityMap(city, windows, centres, labels, ranked[:, -1] - ranked[:, -2], step)


def write_csv(found: CityMap, path: Path) -> None:
    """Write a line for each window."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["lat", "lon", "pattern", "margin", "nodes", "edges", "genus", "total_length"])
        rows = zip(found.centres.tolist(), found.labels, found.margins.tolist(), found.windows, strict=True)
        for (lat, lon), label, margin, window in rows:
            figures = [window.n_nodes, window.n_edges, window.genus, round(window.total_length, 1)]
            writer.writerow([f"{lat:.6f}", f"{lon:.6f}", label, f"{margin:.4f}", *figures])


def write_geojson(found: CityMap, path: Path) -> None:
    """Write a square for each window, as wide as windows are apart."""
    half = found.step / 2 / METRES_PER_DEGREE
    features = []
    rows = zip(found.centres.tolist(), found.labels, found.margins.tolist(), found.windows, strict=True)
    for (lat, lon), label, margin, window in rows:
        wide = half / np.cos(np.radians(lat))
        corners = [(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]
        ring = [[round(lon + x * wide, 6), round(lat + y * half, 6)] for x, y in corners]
        properties = {"pattern": str(label), "margin": round(margin, 4), "genus": window.genus}
        geometry = {"type": "Polygon", "coordinates": [ring]}
        features.append({"type": "Feature", "properties": properties, "geometry": geometry})
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")


def draw_map(found: CityMap, path: Path, title: str) -> None:
    """Draw the streets of a city, each in the colour of the window nearest to its first end."""
    import matplotlib as mpl  # noqa: PLC0415  (an extra)

    mpl.use("Agg")
    import matplotlib.pyplot as plt  # noqa: PLC0415  (an extra)

    city = found.city
    places = np.asarray(city.coordinates)[:, :2]
    scale = [np.cos(np.radians(places[:, 1].mean())), 1.0]
    nearest = cKDTree(found.centres[:, ::-1] * scale).query(places[city.tail] * scale)[1]
    labels = np.unique(found.labels)
    parts = []
    for label in labels:
        chosen = np.flatnonzero(found.labels[nearest] == label)
        ends = {"tail": city.tail[chosen], "head": city.head[chosen], "length": city.length[chosen]}
        parts.append(city.replace(**ends))
    figure, ax = plt.subplots(figsize=(8, 8), layout="constrained")
    shares = [f"{label} ({np.mean(found.labels == label):.0%})" for label in labels]
    plot.city_map(parts, shares, ax=ax, title=title)
    figure.savefig(path, dpi=130)
    plt.close(figure)
