"""
Vessels with radii
==================

Blood vessels have a length and a radius. Subgraphs and refinements of a graph keep the values on its
edges. Flow resistance grows with length and falls with the fourth power of the radius (Poiseuille). It
adds up along a vessel, so it can take the place of the length, and every tool for metric graphs applies
to it.

The vessels are from a mouse brain (VesselVio, CC BY-NC). Without them, the page uses a Voronoi mesh
with random radii.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import torelli as tt
from torelli.datasets.storage import shared_data

try:
    (network,) = tt.read(shared_data("other", "vessel_mousebrain_vesselvio.graphml.gz"))
    network = network.replace(
        coordinates=network.coordinates[:, :2], unit=None, name="vessels of a mouse brain"
    )
except tt.DataNotFoundError:
    mesh = tt.datasets.voronoi(400, seed=0)
    radii = np.random.default_rng(0).lognormal(1.0, 0.3, mesh.n_edges)
    network = mesh.replace(edge_values={"radius": radii}, name="a mesh with random radii")

print(network.summary())

# %%
# Most vessels branch like a tree. We look at those on cycles, and ask which of them have ways around:
# by length, and by resistance to flow.

radius = np.asarray(network.edge_values["radius"], dtype=float)
by_length = tt.canonical_measure(network)
by_flow = tt.canonical_measure(network.replace(length=network.length / radius**4))
on_cycle = by_length.edge_mass > 0
print(f"{on_cycle.mean():.0%} of {network.n_edges:,} vessels lie on a cycle")

figure, axes = plt.subplots(1, 2, figsize=(10, 4.5), layout="constrained")
ends = network.coordinates[np.stack([network.tail, network.head], axis=1), :2]
colours = np.where(on_cycle, "tab:red", "0.6")
axes[0].add_collection(LineCollection(ends, linewidths=radius / np.median(radius) / 2, colors=colours))
axes[0].autoscale_view()
axes[0].set(title="vessels from above; red: on a cycle", aspect="equal", xticks=[], yticks=[])
axes[1].scatter(by_length.edge_mass[on_cycle], by_flow.edge_mass[on_cycle], s=8)
axes[1].axline((0, 0), slope=1, color="0.6", linewidth=1)
axes[1].set(xlabel="mass by length", ylabel="mass by flow resistance", title="ways around each vessel")

# %%
# Both measures add up to the genus, and have the same bridges, because cycles do not depend on lengths.
# But they order the vessels differently: a wide vessel is a good way around for others, and blood avoids
# the narrow one beside it.

order = np.corrcoef(by_length.edge_mass[on_cycle], by_flow.edge_mass[on_cycle])[0, 1]
print(f"both add up to {by_length.edge_mass.sum():.1f} and {by_flow.edge_mass.sum():.1f}")
print(f"correlation of the masses on cycles: {order:.2f}")

# %%
# Subdivision gives each piece the radius of its vessel:

finer = network.subdivide(1000, seed=0)
print(finer.n_edges, len(finer.edge_values["radius"]))
plt.show()
