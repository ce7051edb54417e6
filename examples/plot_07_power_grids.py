"""
Power grids: how far is each from a tree?
=========================================

Low-voltage grids branch out to single houses, medium-voltage grids are built as rings, and transmission
grids are meshed, so that few lines are indispensable. The canonical measure shows this line by line: a
line of mass 0 is a bridge, and its failure cuts off everything behind it.

The grids are SciGRID's model of Germany (CC BY) and two grids from pandapower (BSD-3). Without them, the
page compares generated networks.
"""

import matplotlib.pyplot as plt

import torelli as tt

try:
    titles = ("Schutterwald, low voltage", "Oberrhein, medium voltage", "Germany, transmission")
    grids = dict(zip(titles, tt.datasets.load_local("power").graphs, strict=True))
except tt.DataNotFoundError:
    grids = {
        "meshed": tt.datasets.delaunay(80, seed=0),
        "radial": tt.datasets.street_pattern("tributary", seed=0),
    }

figure, axes = plt.subplots(1, len(grids), figsize=(4.5 * len(grids), 4.5), layout="constrained")
for (name, grid), ax in zip(grids.items(), axes, strict=True):
    tt.plot.measure(grid, ax=ax)
    ax.set_title(name)

# %%
# Even the most meshed grid has bridges. The table counts them, and gives their share of the length.

for name, grid in grids.items():
    measure = tt.canonical_measure(grid)
    bridges = measure.edge_mass == 0.0
    print(
        f"{name:28} {grid.n_edges:6,} lines, genus {grid.genus:4,}, "
        f"{bridges.mean():4.0%} of lines and {grid.length[bridges].sum() / grid.total_length:4.0%} "
        "of the length are bridges"
    )

plt.show()
