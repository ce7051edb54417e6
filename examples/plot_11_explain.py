"""
Explain a similarity
====================

A kernel says *that* two networks are alike. The vectors of the canonical measure are sums over places,
so they can also say *where*: each street has its part in the similarity and in the distance.
"""

import matplotlib.pyplot as plt
import numpy as np

import torelli as tt

data = tt.datasets.street_patterns(20, radius=300.0, seed=0)
names = np.asarray(data.target_names)[data.y]
features = tt.MeasureFeatures().fit(data.graphs)


def first(pattern):
    """Return the first window of a pattern."""
    return data.graphs[int(np.flatnonzero(names == pattern)[0])]


explanation = tt.explain(first("gridiron"), first("tributary"), features)
figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
tt.plot.explain(explanation, axes=axes.ravel().tolist())

# %%
# The parts of all streets add up to the inner product of the two vectors, and to their squared distance.

x, y = features.transform([first("gridiron"), first("tributary")])
print(f"similarity: {sum(part.sum() for part in explanation.alike):.6f}, inner product {2 * (x @ y):.6f}")
print(
    f"difference: {sum(part.sum() for part in explanation.apart):.6f}, distance² {((x - y) ** 2).sum():.6f}"
)
plt.show()
