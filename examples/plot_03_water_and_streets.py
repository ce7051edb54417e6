"""
A water network beside a street network
=======================================

Pipes lie under streets, so the two networks should look alike. But they serve different purposes.
Traffic needs ways around, so streets form many cycles. Pipes are expensive, so many of them are dead
ends. The canonical measure shows the difference.

Water networks are from the Water Benchmark Hub (MIT), street networks of city centres from OpenStreetMap
(ODbL, © OpenStreetMap contributors). Without these data, the page compares generated networks.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import torelli as tt

warnings.simplefilter("ignore", tt.DataWarning)  # what the readers assumed is in `water.notes`
try:
    water = tt.datasets.load_water()
    pipes, networks = water.graphs, water.groups
    centres = tt.datasets.load_local("city120")
    streets = centres.graphs
    pipe, street = pipes[water.names.index("modena")], streets[centres.names.index("Turin_Italy")]
except tt.DataNotFoundError:
    pipes = [tt.datasets.voronoi(n, seed=n) for n in range(20, 60)]
    streets = [tt.datasets.street_pattern("tributary", seed=seed) for seed in range(60)]
    networks = np.arange(len(pipes))
    pipe, street = pipes[0], streets[0]

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
for graph, ax in zip((pipe, street), axes, strict=True):
    tt.plot.measure(graph, ax=ax)
    ax.set_title(f"{graph.name}: genus {graph.genus:,}, {graph.total_length / 1000:,.0f} km")

# %%
# How much of each network lies on no cycle, and how many segments there are between junctions for each
# cycle? The table has the median of all networks, with the quartiles.


def figures(graph):
    """Return the share of bridges, by length, and the number of segments per cycle."""
    measure = tt.canonical_measure(graph)
    bridges = graph.length[measure.edge_mass == 0.0].sum() / graph.total_length
    return bridges, len(measure.length) / max(graph.genus, 1)


print(f"{'':8} {'length on bridges':>22} {'segments per cycle':>24}")
for name, graphs in (("water", pipes), ("streets", streets)):
    low, middle, high = np.percentile([figures(graph) for graph in graphs], [25, 50, 75], axis=0)
    print(
        f"{name:8} {middle[0]:9.0%} ({low[0]:4.0%} to {high[0]:4.0%}) "
        f"{middle[1]:10.1f} ({low[1]:4.1f} to {high[1]:4.1f})"
    )

# %%
# Does a kernel tell pipes from streets by shape alone? ``TTMKernel`` divides lengths by their mean, so
# the size of a town does not matter. Versions of one water network stay on the same side of each fold.

graphs = [*(graph.replace(unit="m") for graph in pipes), *(graph.replace(unit="m") for graph in streets)]
kinds = np.array(["water"] * len(pipes) + ["streets"] * len(streets))
groups = np.r_[networks, max(networks) + 1 + np.arange(len(streets))]
model = make_pipeline(tt.TTMKernel(scale="relative", size=0), SVC(kernel="precomputed", C=10))
predicted = cross_val_predict(model, graphs, kinds, groups=groups, cv=GroupKFold(5))
majority = max(np.mean(kinds == "water"), np.mean(kinds == "streets"))
K = tt.TTMKernel(scale="relative", size=0).fit_transform(graphs)
tt.plot.kernel_pca(
    K, kinds, title=f"{np.mean(predicted == kinds):.0%} recognised, {majority:.0%} by the majority class"
)
plt.show()
