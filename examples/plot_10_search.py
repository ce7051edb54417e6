"""
Search for the place most like this one
=======================================

Which places of other cities look like this one? ``tt.GraphIndex`` keeps a collection of networks and
returns the nearest ones, by the distance of any kernel. The result is exact, and most distances are
never computed: short vectors bound them from below.

The places are cells of 1 km from 20 cities (OpenStreetMap, ODbL, © OpenStreetMap contributors). Without
them, the page uses generated street patterns.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import torelli as tt

try:
    data = tt.datasets.load_local("cells")
    places, cities = data.graphs, data.y
except tt.DataNotFoundError:
    data = tt.datasets.street_patterns(100, radius=300.0, seed=0)
    places, cities = data.graphs, np.asarray(data.target_names)[data.y]

index = tt.GraphIndex("ttm").fit(places, metadata=[{"city": str(city)} for city in cities])
print(f"{index.n_graphs_:,} places, {index.n_distinct_:,} of them different")

# %%
# The first match of a place is the place itself, at distance 0. Here are the five after it.

query = len(places) // 2
distances, nearest = index.query(places[query], k=6)
figure, axes = plt.subplots(2, 3, figsize=(10, 7), layout="constrained")
for distance, position, ax in zip(distances, nearest, axes.ravel(), strict=True):
    tt.plot.measure(places[position], ax=ax)
    ax.set_title(f"{index.record(int(position))['city']}, distance {distance:.2f}")

# %%
# The query need not be stored like the collection: the same streets with 2,000 more points are found at
# distance 0.

finer = places[query].subdivide(2000, seed=0)
distances, nearest = index.query(finer, k=1)
print(f"{finer.n_edges:,} edges instead of {places[query].n_edges:,}: nearest is place {nearest[0]}", end=" ")
print(f"at distance {distances[0]:.1f}; {index.spared_:.0%} of distances were not computed")

# %%
# How often is the most similar other place in the same city?

_, nearest = index.query(places, k=2)
other = np.where(nearest[:, 0] == np.arange(len(places)), nearest[:, 1], nearest[:, 0])
names, counts = np.unique(cities, return_counts=True)
chance = np.sum(counts * (counts - 1)) / (len(places) * (len(places) - 1))
print(f"same city: {np.mean(cities[other] == cities):.0%}, by chance {chance:.0%}")

# %%
# An index is saved to a folder of plain arrays with checksums. When it is loaded, the arrays stay on disk
# until they are needed. The command line does the same.

with tempfile.TemporaryDirectory() as folder:
    path = index.save(Path(folder) / "places.index")
    again = tt.GraphIndex.load(path)
    print(f"found again: {again.query(places[query], k=6)[1]}")
plt.show()
