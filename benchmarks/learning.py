"""Learning from 100,000 windows with features from landmarks, compared with the exact kernel on fewer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from benchmarks.measure import Row, compared, in_fresh_process, limited

if TYPE_CHECKING:
    from typing import Any

WINDOWS = 100_000
EXACT = 4_000
TEST = 2_000
RADIUS = 300
LANDMARKS = 256
MINUTES = 15
GIGABYTES = 4
POINT = 1.0

_CODE = """
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

n, m = {windows}, {exact}
graphs = Parallel(n_jobs=2, batch_size=200)(delayed(window)(seed) for seed in range(n + {test}))
y = np.arange(len(graphs)) % 4
test, y_test = graphs[n:], y[n:]

# the exact kernel on a subset: the penalty is chosen on its last quarter
subset, quarter = graphs[:m], 3 * m // 4
kernel = tt.TTWKernel(psd="clip", n_jobs=2)
K = kernel.fit_transform(subset)
models = [SVC(kernel="precomputed", C=C) for C in (1, 10, 100)]
half, rest = K[:quarter, :quarter], K[quarter:, :quarter]
scores = [one.fit(half, y[:quarter]).score(rest, y[quarter:m]) for one in models]
machine = models[int(np.argmax(scores))].fit(K, y[:m])
exact = machine.score(kernel.transform(test), y_test)
tt.distance_cache.clear()
del K, kernel

# the same subset by landmarks
features = tt.LandmarkFeatures(tt.TTWKernel(gamma="median"), n_landmarks={landmarks}, n_jobs=2)
X = features.fit_transform(subset)
linear = [LogisticRegression(C=C, max_iter=2000) for C in (10, 100, 1000)]
scores = [one.fit(X[:quarter], y[:quarter]).score(X[quarter:], y[quarter:m]) for one in linear]
chosen = linear[int(np.argmax(scores))]
few = chosen.fit(X, y[:m]).score(features.transform(test), y_test)
error = features.kernel_error(test[:500])

# all windows
wall, start = time.perf_counter(), time.process_time()
features = tt.LandmarkFeatures(tt.TTWKernel(), n_landmarks={landmarks}, n_jobs=2)
X = features.fit_transform(graphs[:n])
model = LogisticRegression(C=chosen.C, max_iter=300).fit(X, y[:n])
every = model.score(features.transform(test), y_test)
print(json.dumps({{
    "exact": 100 * exact, "few": 100 * few, "every": 100 * every, "error": 100 * error,
    "processor": time.process_time() - start, "wall": time.perf_counter() - wall, "mb": peak_mb(),
}}))
"""


def learning(windows: int = WINDOWS, exact: int = EXACT, test: int = TEST) -> list[Row]:
    """Classify synthetic street windows of four patterns (600 m) by TTW, with 256 landmarks.

    A linear model on `LandmarkFeatures` of 100,000 windows is compared with a support vector machine on the
    exact kernel of 4,000 of them. Both predict the same 2,000 other windows. Penalties are chosen on the last
    quarter of the 4,000. Time is that of landmarks, features, model and predictions in two threads; processor
    time counts both. Memory is the most that the process had, the exact kernel and the windows included.
    """
    found: dict[str, Any] = in_fresh_process(
        _CODE.format(windows=windows, exact=exact, test=test, radius=RADIUS, landmarks=LANDMARKS)
    )
    print(json.dumps(found))
    limit = 2 * 60 * MINUTES
    lost = found["exact"] - found["few"]
    return [
        compared(f"{exact:,} windows, accuracy", "exact kernel", found["few"], found["exact"], unit="%"),
        limited(f"{exact:,} windows, points lost to the exact kernel", lost, POINT, ""),
        compared(
            f"{windows:,} windows, accuracy",
            f"exact kernel on {exact:,}",
            found["every"],
            found["exact"],
            unit="%",
        ),
        limited(
            f"{windows:,} windows, points lost to the exact kernel on {exact:,}",
            found["exact"] - found["every"],
            POINT,
            "",
        ),
        limited("error of the kernel of 500 windows", found["error"], unit="%"),
        limited(f"{windows:,} windows, processor time of two threads", found["processor"], limit),
        limited(f"{windows:,} windows, time", found["wall"]),
        limited(f"{windows:,} windows, memory", found["mb"] / 1000, GIGABYTES, "GB"),
    ]
