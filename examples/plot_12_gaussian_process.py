"""
A Gaussian process over graphs
==============================

Some quantities of a network are expensive to compute or to measure. One of them is the detour: how much
longer the way along the streets is than the straight line. A Gaussian process with a kernel on metric
graphs learns it from examples, and says how sure it is. The kernel sees no coordinates. It predicts
from lengths and cycles alone a quantity whose definition needs straight lines.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel

import torelli as tt


def mean_detour(graph):
    """Return the mean ratio of street to straight-line distance, for nodes at least 50 m apart."""
    links = coo_array((graph.length, (graph.tail, graph.head)), (graph.n_nodes, graph.n_nodes))
    way = shortest_path(links, directed=False)
    straight = np.linalg.norm(graph.coordinates[:, None] - graph.coordinates, axis=2)
    pairs = np.isfinite(way) & (straight >= 50.0)
    return np.mean(way[pairs] / straight[pairs])


data = tt.datasets.street_patterns(40, radius=300.0, seed=0)
order = np.random.default_rng(0).permutation(len(data.graphs))
graphs = [data.graphs[i] for i in order]
detour = np.array([mean_detour(graph) for graph in graphs])
training, test = slice(0, 110), slice(110, None)

# %%
# ``GraphRBF.median`` chooses a first gamma from the training graphs. The process then fits gamma, the
# variance and the noise by their likelihood.

kernel = ConstantKernel(1.0) * tt.GraphRBF.median(graphs[training], "ttm") + WhiteKernel(0.1)
process = GaussianProcessRegressor(kernel, normalize_y=True).fit(graphs[training], detour[training])
print(process.kernel_)

# %%
# The process predicts windows that it has not seen. Bars are two of its standard deviations.

mean, deviation = process.predict(graphs[test], return_std=True)
inside = np.mean(np.abs(mean - detour[test]) < 2 * deviation)
figure, ax = plt.subplots(figsize=(6, 6), layout="constrained")
ax.errorbar(detour[test], mean, 2 * deviation, fmt="o", ms=4, alpha=0.7)
ax.axline((1.5, 1.5), slope=1, color="0.5")
ax.set(
    xlabel="mean detour",
    ylabel="predicted",
    title=f"R² = {process.score(graphs[test], detour[test]):.2f}; {inside:.0%} within two deviations",
)
plt.show()
