"""
Backbones of the internet
=========================

The Internet Topology Zoo collects maps that operators published of their own networks. Nodes are
places, so a link has a length: the great-circle distance between its ends. We watch the ARPANET grow,
and ask whether a kernel tells research networks from commercial ones.

Data: Knight et al., The Internet Topology Zoo, 2011 (CC BY 4.0). Without it, the page uses generated
networks.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import GroupKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import torelli as tt

warnings.simplefilter("ignore", tt.DataWarning)  # what the reader assumed is in `zoo.notes`
try:
    zoo = tt.datasets.load_zoo()
    graphs, kinds, groups = zoo.graphs, zoo.y, zoo.groups
    names = ["Arpanet196912", "Arpanet19706", "Arpanet19719", "Arpanet19723", "Arpanet19728"]
    growing = [graphs[zoo.names.index(name)] for name in names]
except tt.DataNotFoundError:
    graphs = [tt.datasets.random_geometric(12 + seed, 0.4, seed=seed) for seed in range(40)]
    graphs += [tt.datasets.delaunay(12 + seed, seed=seed) for seed in range(40)]
    kinds, groups = np.repeat(["geometric", "delaunay"], 40), np.arange(80)
    growing = [tt.datasets.delaunay(n, seed=0) for n in (4, 6, 8, 12, 16)]

figure, axes = plt.subplots(1, 5, figsize=(14, 2.8), layout="constrained")
for graph, ax in zip(growing, axes, strict=True):
    tt.plot.measure(graph, ax=ax)
    ax.set_title(f"{graph.name}\ngenus {graph.genus}", fontsize="small")

# %%
# A link of mass 0 is a bridge: its failure divides the network. The ARPANET was planned so that every
# site has two ways out, and new sites began as bridges.

for graph in growing:
    mass = tt.canonical_measure(graph).edge_mass
    print(
        f"{graph.name:16} {graph.n_edges:3} links, {np.sum(mass == 0.0):2} of them bridges, genus "
        f"{graph.genus:2}, {graph.total_length / 1e3:8,.0f} km"
    )

# %%
# A network should resemble itself. If the zoo has maps of a network from several years, how often does
# the nearest other map belong to the same operator?

x = tt.MeasureFeatures().fit_transform(graphs)
distance = np.linalg.norm(x[:, None] - x, axis=2)
np.fill_diagonal(distance, np.inf)
relatives = (groups[:, None] == groups).sum(axis=1) - 1
several = relatives > 0
own = np.mean((groups[distance.argmin(axis=1)] == groups)[several]) if several.any() else 0.0
chance = np.mean(relatives[several]) / (len(graphs) - 1) if several.any() else 0.0
print(f"same operator: {own:.0%} of {several.sum()} networks, {chance:.0%} by chance")

# %%
# Research or commercial? Maps of one network from several years stay on the same side of each fold. The
# baseline is to always guess the majority class.

majority = np.unique(kinds, return_counts=True)[1].max() / len(kinds)
for name, kernel in {
    "TTM": tt.TTMKernel(),
    "TTS with bridges": tt.TTSKernel(bridges="double"),
    "TTS, cycles alone": tt.TTSKernel(),
}.items():
    model = make_pipeline(kernel, SVC(kernel="precomputed", C=10, class_weight="balanced"))
    predicted = cross_val_predict(model, graphs, kinds, groups=groups, cv=GroupKFold(5))
    print(f"{name:18} {np.mean(predicted == kinds):.0%} right, {majority:.0%} by the majority class")

# %%
# No kernel is clearly better than the guess: who runs a backbone does not show in its cycles and
# lengths. Random folds, which put maps of one network on both sides, would hide this.

tt.plot.kernel_pca(tt.TTMKernel().fit_transform(graphs), kinds, title="backbones by TTM")
plt.show()
