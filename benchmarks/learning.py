"""Learning from 100,000 windows with features from landmarks, compared with the exact kernel on fewer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.measure import Row, compared, in_fresh_process, limited

if TYPE_CHECKING:
    from collections.abc import Iterator

WINDOWS = 100_000
EXACT = 4_000
TEST = 2_000
RADIUS = 300
LANDMARKS = 256
MINUTES = 15
GIGABYTES = 4
POINT = 1.0

_WINDOWS = """
import time
import numpy as np
from joblib import Parallel, delayed
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC
import torelli as tt
from torelli.datasets.streets import PATTERNS, street_pattern

def window(seed):
    graph = street_pattern(PATTERNS[seed % 4], radius={radius}, seed=seed)
    return tt.MetricGraph(graph.tail, graph.head, graph.length, graph.n_nodes, unit="m")

def windows(first, last):
    return Parallel(n_jobs=2, batch_size=200)(delayed(window)(seed) for seed in range(first, last))

test = windows({windows}, {windows} + {test})
y_test = np.arange({windows}, {windows} + {test}) % 4
"""

_SUBSET = """
# the exact kernel: the penalty is chosen on the last quarter
n = {exact}
graphs, y, quarter = windows(0, n), np.arange(n) % 4, 3 * n // 4
kernel = tt.TTWKernel(psd="clip", n_jobs=2)
K = kernel.fit_transform(graphs)
models = [SVC(kernel="precomputed", C=C) for C in (1, 10, 100)]
train, held_out = K[:quarter, :quarter], K[quarter:, :quarter]
scores = [model.fit(train, y[:quarter]).score(held_out, y[quarter:]) for model in models]
exact = models[int(np.argmax(scores))].fit(K, y).score(kernel.transform(test), y_test)
tt.distance_cache.clear()
del K, kernel

# the same windows by landmarks
features = tt.LandmarkFeatures(tt.TTWKernel(gamma="median"), n_landmarks={landmarks}, n_jobs=2)
X = features.fit_transform(graphs)
models = [LogisticRegression(C=C, max_iter=2000) for C in (10, 100, 1000)]
scores = [model.fit(X[:quarter], y[:quarter]).score(X[quarter:], y[quarter:]) for model in models]
chosen = models[int(np.argmax(scores))]
landmarks = chosen.fit(X, y).score(features.transform(test), y_test)
print(json.dumps({{
    "exact": 100 * exact, "landmarks": 100 * landmarks, "C": chosen.C,
    "error": 100 * features.kernel_error(test[:500]),
}}))
"""

_ALL = """
n = {windows}
graphs, y = windows(0, n), np.arange(n) % 4
wall, start = time.perf_counter(), time.process_time()
features = tt.LandmarkFeatures(tt.TTWKernel(), n_landmarks={landmarks}, n_jobs=2)
X = features.fit_transform(graphs)
model = LogisticRegression(C={C}, max_iter=300).fit(X, y)
accuracy = model.score(features.transform(test), y_test)
print(json.dumps({{
    "accuracy": 100 * accuracy, "processor": time.process_time() - start,
    "wall": time.perf_counter() - wall, "mb": peak_mb(),
}}))
"""


def learning(windows: int = WINDOWS, exact: int = EXACT, test: int = TEST) -> Iterator[Row]:
    """Classify synthetic street windows of four patterns (600 m) by TTW, with 256 landmarks.

    A linear model on `LandmarkFeatures` of 100,000 windows is compared with a support vector machine on the
    exact kernel of 4,000 of them. Both predict the same 2,000 other windows. Penalties are chosen on the last
    quarter of the 4,000. Time is that of landmarks, features, model and predictions in two threads; processor
    time counts both. Memory is the most that the process had, the windows included.
    """
    options = {
        "windows": windows, "exact": exact, "test": test, "radius": RADIUS, "landmarks": LANDMARKS
    }  # fmt: skip
    subset = in_fresh_process((_WINDOWS + _SUBSET).format(**options))
    name = f"{exact:,} windows"
    yield compared(f"{name}, accuracy", "exact kernel", subset["landmarks"], subset["exact"], unit="%")
    yield limited(
        f"{name}, points lost to the exact kernel", subset["exact"] - subset["landmarks"], POINT, ""
    )
    yield limited("error of the kernel of 500 windows", subset["error"], unit="%")
    every = in_fresh_process((_WINDOWS + _ALL).format(C=subset["C"], **options))
    name = f"{windows:,} windows"
    against = f"exact kernel on {exact:,}"
    yield compared(f"{name}, accuracy", against, every["accuracy"], subset["exact"], unit="%")
    lost = subset["exact"] - every["accuracy"]
    yield limited(f"{name}, points lost to the {against}", lost, POINT, "")
    yield limited(f"{name}, processor time of two threads", every["processor"], 2 * 60 * MINUTES)
    yield limited(f"{name}, time", every["wall"], 60 * MINUTES)
    yield limited(f"{name}, memory", every["mb"] / 1000, GIGABYTES, "GB")
