"""
Vessels with radii
==================

Blood vessels have a length and a radius. Values on edges travel with a graph through subgraphs and
refinements. Flow resistance grows with length and falls with the fourth power of the radius
(Poiseuille). It adds up along a vessel, so it is a length of its own, and every tool for metric graphs
applies to it.
"""

import matplotlib.pyplot as plt
import numpy as np

import torelli as tt

try:
    network = tt.datasets.load_local("vessel").graphs[0]  # a mouse brain, by VesselVio
    radius = np.asarray(network.edge_values["radius"], dtype=float)
except (tt.DataNotFoundError, KeyError):  # without the shared data: a mesh with random radii
    network = tt.datasets.voronoi(400, seed=0)
    radius = np.random.default_rng(0).lognormal(1.0, 0.3, network.n_edges)

print(network.summary())

# %%
# The masses of both networks say which vessels have ways around them: by length, and by resistance to
# flow. Where the radius varies, the two differ.

by_length = tt.canonical_measure(network)
by_flow = tt.canonical_measure(network.replace(length=network.length / radius**4))

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
axes[0].hist(np.log10(network.length), bins=60)
axes[0].set(xlabel="log10 of length", ylabel="vessels", title="lengths")
points = axes[1].scatter(by_length.edge_mass, by_flow.edge_mass, c=np.log(radius), s=4)
axes[1].set(xlabel="mass by length", ylabel="mass by flow resistance", title="ways around each vessel")
figure.colorbar(points, label="log of radius")
plt.show()
