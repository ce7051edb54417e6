"""
Neurons, which are trees
========================

A neuron has no cycles: its genus is 0, and its Torelli matrix is empty. Kernels that compare cycles
cannot tell two neurons apart, and warn about it. There are two ways out: ``bridges="double"`` turns each
branch into a cycle, and TTM compares the branches themselves.

Data: 100 mouse neurons from the Allen Institute, via CAJAL (MIT). Without it, the page uses random
trees.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import torelli as tt

warnings.simplefilter("ignore", tt.DataWarning)  # what the reader assumed is in `data.notes`
try:
    data = tt.datasets.load_neurons()
    chosen = np.flatnonzero(data.y != "sparsely spiny")  # three are too few to learn from
    neurons, kinds = [data.graphs[i] for i in chosen], data.y[chosen]
except tt.DataNotFoundError:
    rng = np.random.default_rng(0)

    def tree(n, spread):
        """Return a random tree with lengths of a given spread."""
        parents = [int(rng.integers(i)) for i in range(1, n)]
        return tt.MetricGraph(range(1, n), parents, rng.lognormal(0.0, spread, n - 1), unit="um")

    neurons = [tree(60, 0.4 if i % 2 else 0.8) for i in range(80)]
    kinds = np.array(["spiny", "aspiny"])[np.arange(80) % 2]

figure, axes = plt.subplots(1, 4, figsize=(13, 4), layout="constrained")
shown = [*np.flatnonzero(kinds == "spiny")[:2], *np.flatnonzero(kinds == "aspiny")[:2]]
for i, ax in zip(shown, axes, strict=True):
    tt.plot.graph(neurons[i], ax=ax, cycles=False, linewidth=0.8)
    ax.set_title(f"{kinds[i]}: {neurons[i].total_length:,.0f} µm")

# %%
# A reconstruction has thousands of points, and nearly all of them have degree 2. They only trace curves:
# the space has far fewer branches.

for i in (0, 1, 2):
    branches = len(tt.canonical_measure(neurons[i]).length)
    print(f"{neurons[i].n_edges:6,} edges, {branches:4,} branches, genus {neurons[i].genus}")

# %%
# Which neurons have spines on their dendrites? The reconstructions do not show spines, only the shape of
# the tree.

majority = np.unique(kinds, return_counts=True)[1].max() / len(kinds)
folds = StratifiedKFold(5, shuffle=True, random_state=0)
for name, kernel in {
    "TTM": tt.TTMKernel(),
    "TTM, size does not matter": tt.TTMKernel(size=0, scale="relative"),
    'TTS, bridges="double"': tt.TTSKernel(bridges="double"),
}.items():
    model = make_pipeline(kernel, SVC(kernel="precomputed", C=10))
    predicted = cross_val_predict(model, neurons, kinds, cv=folds)
    print(f"{name:26} {np.mean(predicted == kinds):.0%} right, {majority:.0%} by the majority class")

tt.plot.kernel_pca(tt.TTMKernel().fit_transform(neurons), kinds, title="neurons by TTM")
plt.show()
