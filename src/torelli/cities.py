"""Street patterns of cities: train a model on windows, and map a city with it.

>>> from torelli import cities, datasets
>>> data = datasets.street_patterns(10, radius=150)
>>> model, C, accuracy = cities.train_pattern_model(data.graphs, data.target_names[data.y])
>>> streets = datasets.osm.load_city("ufa.graphml").streets  # doctest: +SKIP
>>> city_map = cities.map_city(model, streets, radius=150)  # doctest: +SKIP
>>> city_map.to_geojson("ufa.geojson")  # doctest: +SKIP
"""

from __future__ import annotations

import csv
import json
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.spatial import cKDTree
from sklearn.model_selection import GridSearchCV, StratifiedGroupKFold, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from torelli._errors import InvalidOptionError, NonGenericWarning, quoted
from torelli._geo import METRES_PER_DEGREE
from torelli._registry import get_kernel
from torelli._validate import is_positive
from torelli.combine import CombinedKernel, FeatureKernel
from torelli.datasets.windows import cover, cut_windows, in_lonlat, metres_from, middle_of
from torelli.kernels import TTSKernel
from torelli.representation import options_by_kernel
from torelli.statistics import MetricStatistics

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from torelli._types import Along, Estimator
    from torelli.datasets.windows import Cut
    from torelli.graph import MetricGraph

_FOLDS = 5
_PENALTIES = (1.0, 10.0, 100.0)


def pattern_classifier(kernel: str | None = None, *, along: Along | None = None) -> Estimator:
    """Return the classifier that `train_pattern_model` fits.

    A support vector machine on the named kernel. Without a name it uses the product of two kernels: the
    spectrum of the Torelli matrix with bridges, and statistics of the metric space. Neither depends on
    how streets are divided into edges. `along` is as for `MeasureFeatures`, for a kernel that takes it.
    """
    if kernel is not None:
        options = options_by_kernel([kernel], {} if along is None else {"along": along})[kernel]
        return make_pipeline(get_kernel(kernel)(n_jobs=-1, **options), SVC(kernel="precomputed"))
    if along is not None:
        raise InvalidOptionError(
            f"along={quoted(along)}: the product of kernels has no such option; add kernel='ttm', or leave "
            "it out"
        )
    metric = make_pipeline(MetricStatistics(), StandardScaler(), FeatureKernel())
    combined = CombinedKernel(
        [("spectrum", TTSKernel(bridges="double", n_jobs=-1)), ("metric", metric)], combine="product"
    )
    return make_pipeline(combined, SVC(kernel="precomputed"))


class TrainedModel(NamedTuple):
    """A fitted classifier of street patterns.

    Attributes
    ----------
    model
        The classifier, fitted to all windows.
    C
        The SVM penalty, chosen by cross-validation.
    accuracy
        The cross-validated accuracy with this C, from 0 to 1.
    """

    model: Any
    C: float
    accuracy: float


def train_pattern_model(
    graphs: Sequence[MetricGraph],
    y: NDArray[Any],
    groups: NDArray[np.int64] | None = None,
    *,
    kernel: str | None = None,
    along: Along | None = None,
    seed: int = 0,
) -> TrainedModel:
    """Return the `pattern_classifier` fitted to windows, with C chosen by cross-validation.

    Parameters
    ----------
    graphs, y
        Windows and their patterns.
    groups
        Spatial block of each window. Blocks are kept together in the folds, because windows of one
        block overlap.
    kernel
        Name of a kernel; by default the product that `pattern_classifier` describes.
    along
        As for `MeasureFeatures`, for a kernel that takes it (TTM).
    seed
        Seed of the folds.

    Examples
    --------
    >>> import numpy as np
    >>> import torelli as tt
    >>> from torelli.cities import train_pattern_model
    >>> data = tt.datasets.street_patterns(4, radius=150, seed=0)
    >>> trained = train_pattern_model(data.graphs, data.target_names[data.y], kernel="tts")
    >>> trained.model.predict(data.graphs[:1]).shape
    (1,)
    """
    counts = np.unique(y, return_counts=True)[1]
    if len(counts) <= 1 or counts.min() <= 1:
        raise InvalidOptionError("a model needs two classes or more, with two windows or more of each")
    n_folds = min(_FOLDS, int(counts.min()))
    if groups is None:
        folds: Any = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    else:
        folds = StratifiedGroupKFold(n_folds, shuffle=True, random_state=seed)
    # the model does not use these, and they should not be stored with it
    bare = [graph.replace(coordinates=None, node_ids=None, name=None, source=None) for graph in graphs]
    model = pattern_classifier(kernel, along=along)
    search = GridSearchCV(model, {"svc__C": list(_PENALTIES)}, cv=folds, refit=False, error_score="raise")
    with warnings.catch_warnings():
        # the fit to all windows warns once; the folds need not
        warnings.simplefilter("ignore", NonGenericWarning)
        search.fit(bare, y, groups=groups)
    model.set_params(**search.best_params_).fit(bare, y)
    return TrainedModel(model, float(search.best_params_["svc__C"]), float(search.best_score_))


@dataclass(frozen=True)
class CityMap:
    """The predicted pattern of each part of a city; entry i of each attribute belongs to window i.

    Attributes
    ----------
    city
        The streets of the city.
    windows
        The windows that cover it.
    centres
        Latitude and longitude of the centre of each window.
    patterns
        The predicted patterns.
    margins
        Difference between the decision values of the best and the second best pattern.
    step
        Distance between neighbouring windows, in metres.
    """

    city: MetricGraph
    windows: list[MetricGraph]
    centres: NDArray[np.float64]
    patterns: NDArray[Any]
    margins: NDArray[np.float64]
    step: float

    def shares(self) -> dict[str, float]:
        """Return the share of windows with each pattern."""
        patterns, counts = np.unique(self.patterns, return_counts=True)
        return dict(zip(patterns.tolist(), (counts / len(self.patterns)).tolist(), strict=True))

    def streets_by_pattern(self) -> dict[str, MetricGraph]:
        """Return the streets of each pattern: each street belongs to the window nearest to its tail.

        Draw them with ``torelli.plot.city_map(list(streets.values()), list(streets))``.
        """
        city = self.city
        lonlat = np.asarray(city.coordinates)[:, :2]
        scale = [np.cos(np.radians(lonlat[:, 1].mean())), 1.0]
        nearest = cKDTree(self.centres[:, ::-1] * scale).query(lonlat[city.tail] * scale)[1]
        streets = {}
        for pattern in np.unique(self.patterns):
            chosen = np.flatnonzero(self.patterns[nearest] == pattern)
            ends = {"tail": city.tail[chosen], "head": city.head[chosen], "length": city.length[chosen]}
            streets[str(pattern)] = city.replace(**ends)
        return streets

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write a line for each window."""
        with Path(path).open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["lat", "lon", "pattern", "margin", "nodes", "edges", "genus", "total_length"])
            for (lat, lon), pattern, margin, window in self._rows():
                figures = [window.n_nodes, window.n_edges, window.genus, round(window.total_length, 1)]
                writer.writerow([f"{lat:.6f}", f"{lon:.6f}", pattern, f"{margin:.4f}", *figures])

    def to_geojson(self, path: str | os.PathLike[str]) -> None:
        """Write a square of side `step` for each window."""
        half_height = self.step / 2 / METRES_PER_DEGREE
        features = []
        for (lat, lon), pattern, margin, window in self._rows():
            half_width = half_height / np.cos(np.radians(lat))
            corners = [(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]
            ring = [[round(lon + x * half_width, 6), round(lat + y * half_height, 6)] for x, y in corners]
            properties = {"pattern": str(pattern), "margin": round(margin, 4), "genus": window.genus}
            geometry = {"type": "Polygon", "coordinates": [ring]}
            features.append({"type": "Feature", "properties": properties, "geometry": geometry})
        text = json.dumps({"type": "FeatureCollection", "features": features})
        Path(path).write_text(text, encoding="utf-8")

    def _rows(self) -> Iterator[tuple[list[float], Any, float, MetricGraph]]:
        return zip(
            self.centres.tolist(), self.patterns.tolist(), self.margins.tolist(), self.windows, strict=True
        )


def map_city(
    model: Estimator,
    city: MetricGraph,
    *,
    radius: float,
    cut: Cut = "bbox",
    step: float | None = None,
) -> CityMap:
    """Return the predicted pattern of windows that cover a city.

    Parameters
    ----------
    model
        A fitted classifier of graphs with ``decision_function``, such as `train_pattern_model` returns.
    city
        Streets with coordinates. Those of a projected reference system are converted to longitude and
        latitude, as by `torelli.datasets.build_urn`.
    radius, cut
        Radius and shape of the windows that the model was trained on.
    step
        Distance between neighbouring windows, in metres; by default the radius.

    Examples
    --------
    >>> import torelli as tt
    >>> from torelli.cities import map_city, train_pattern_model
    >>> data = tt.datasets.street_patterns(4, radius=150, seed=0)
    >>> model = train_pattern_model(data.graphs, data.target_names[data.y], kernel="tts").model
    >>> town = tt.datasets.street_pattern("gridiron", radius=400, seed=0)
    >>> town = town.replace(coordinates=town.coordinates / 111_000, crs="EPSG:4326")
    >>> city = map_city(model, town, radius=150)
    >>> len(city.windows) == len(city.centres)
    True
    """
    step = radius if step is None else step
    for name, value in (("radius", radius), ("step", step)):
        if not is_positive(value):
            raise InvalidOptionError(f"{name} is {value:g}: give a positive number of metres")
    (city,) = in_lonlat([city])
    points = metres_from(city, middle_of(city))
    landmarks = cover(city, points, step)
    windows = list(cut_windows(city, points, landmarks, radius, cut))
    bare = [window.replace(coordinates=None, node_ids=None) for window in windows]
    decision = np.asarray(model.decision_function(bare))
    if decision.ndim == 1:  # two classes
        decision = np.stack([-np.abs(decision), np.abs(decision)], axis=1)
    ranked = np.sort(decision, axis=1)
    centres = city.coordinates[landmarks, 1::-1]  # type: ignore[index]  # metres_from has checked them
    return CityMap(city, windows, centres, model.predict(bare), ranked[:, -1] - ranked[:, -2], step)
