"""
A Gaussian process over graphs
==============================

Some quantities are expensive to compute or to measure for a network, such as the mean travel time
across it. A Gaussian process with a kernel on metric graphs learns them from examples, and says how
sure it is.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

import torelli as tt


def mean_detour(graph):
    """Return the mean shortest path between the nodes of a graph, in metres."""
    n = graph.n_nodes
    both = coo_array((graph.length, (graph.tail, graph.head)), (n, n))
    distances = shortest_path(both, directed=False)
    return distances[np.isfinite(distances) & (distances > 0)].mean()


data = tt.datasets.street_patterns(40, radius=300.0, seed=0)
order = np.random.default_rng(0).permutation(len(data.graphs))
graphs = [data.graphs[i] for i in order]
y = np.array([mean_detour(graph) for graph in graphs])
training, test = graphs[:110], graphs[110:]

kernel = ConstantKernel(1.0) * tt.GraphRBF.median(training, "ttm") + WhiteKernel(0.1)
process = GaussianProcessRegressor(kernel, normalize_y=True).fit(training, y[:110])
mean, deviation = process.predict(test, return_std=True)

# %%
# Bars are two standard deviations, as the process states them.

inside = np.mean(np.abs(mean - y[110:]) < 2 * deviation)
figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
ax.errorbar(y[110:], mean, 2 * deviation, fmt="o", ms=4, alpha=0.7)
ax.axline((y.mean(), y.mean()), slope=1, color="0.5")
ax.set(
    xlabel="mean shortest path (m)",
    ylabel="predicted (m)",
    title=f"R² = {process.score(test, y[110:]):.2f}; {inside:.0%} within two deviations",
)
plt.show()
