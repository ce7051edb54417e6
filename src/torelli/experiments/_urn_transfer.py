"""A model of synthetic street patterns, tried on real cities."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from torelli._errors import NonGenericWarning
from torelli.commands._urn_models import train
from torelli.datasets.calibration import city_windows, read_cities
from torelli.datasets.streets import street_patterns
from torelli.statistics import StreetStatistics

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from torelli.experiments._experiment import Rows
    from torelli.graph import MetricGraph

RADII = (150, 300)
TRANSFER_METHODS = ("combined", "statistics")
_SYNTHETIC, _REAL = 100, 20  # windows of each pattern, and of each city
_QUICK_SYNTHETIC, _QUICK_REAL = 30, 4
_QUICK_NODES = 3000
_FOLDS = 5


def transfer(radius: int, method: str, *, quick: bool, seed: int) -> Rows:
    """Return how a model of synthetic windows does on others of its kind, and on windows of real cities."""
    data = street_patterns(_QUICK_SYNTHETIC if quick else _SYNTHETIC, radius=radius, seed=seed)
    y = np.asarray(data.target_names)[data.y]
    cities = read_cities(max_nodes=_QUICK_NODES if quick else None)
    with warnings.catch_warnings():
        # lengths of the shared data are rounded to millimetres: totals tie
        warnings.simplefilter("ignore", NonGenericWarning)
        if method == "combined":
            model, _, accuracy = train(data.graphs, y, None, seed=seed)
        else:
            model, accuracy = _statistics_model(data.graphs, y, radius, seed)
        rows: Rows = [{"kind": "synthetic", "accuracy": 100 * accuracy}]
        for pattern, towns in cities.items():
            for city in towns:
                n_windows = _QUICK_REAL if quick else _REAL
                windows = city_windows(city, radius=float(radius), n_windows=n_windows, seed=seed)
                if not windows:
                    continue
                predicted, counts = np.unique(model.predict(windows), return_counts=True)
                rows += [
                    {
                        "kind": "transfer",
                        "city": city.name,
                        "true": pattern,
                        "predicted": str(label),
                        "count": int(n),
                    }
                    for label, n in zip(predicted, counts, strict=True)
                ]
    return rows


def _statistics_model(
    graphs: list[MetricGraph], y: NDArray[Any], radius: int, seed: int
) -> tuple[Any, float]:
    pipeline = make_pipeline(StreetStatistics(area=(2.0 * radius) ** 2), StandardScaler(), SVC())
    folds = StratifiedKFold(_FOLDS, shuffle=True, random_state=seed)
    search = GridSearchCV(pipeline, {"svc__C": [1.0, 10.0, 100.0]}, cv=folds).fit(graphs, y)
    return search.best_estimator_, float(search.best_score_)
