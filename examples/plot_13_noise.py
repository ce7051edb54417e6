"""
Noise and stability
===================

Lengths are measured, and every measurement has an error. How far does a distance between networks move
when lengths change by one percent? We compare that with the median distance between different networks.
A kernel that jumps under noise cannot recognise a place.
"""

import matplotlib.pyplot as plt
import numpy as np

import torelli as tt

graphs = tt.datasets.street_patterns(15, radius=300.0, seed=0).graphs
rng = np.random.default_rng(0)
levels = [0.0001, 0.001, 0.01, 0.05]


def noisy(graph, level):
    """Return the graph with independent relative errors in its lengths."""
    return graph.replace(length=graph.length * np.exp(level * rng.standard_normal(graph.n_edges)))


# %%
# TTM compares vectors of the canonical measure. TTW, TTE and TTS compare Torelli matrices, whose basis
# is found by sorting: where two lengths cross, rows swap.

moves = {}
copies = {level: [noisy(graph, level) for graph in graphs] for level in levels}
features = tt.MeasureFeatures().fit(graphs)
x = features.transform(graphs)
between = np.linalg.norm(x[:, None] - x, axis=2)
scale = np.median(between[np.triu_indices(len(x), 1)])
moves["TTM"] = [np.mean(np.linalg.norm(features.transform(copies[e]) - x, axis=1)) / scale for e in levels]
for metric in ("ttw", "tte", "tts"):
    scale = np.median(tt.pairwise_distances(graphs, metric=metric)[np.triu_indices(len(graphs), 1)])
    moves[metric.upper()] = [
        np.mean([tt.distance(a, b, metric=metric) for a, b in zip(graphs, copies[e], strict=True)]) / scale
        for e in levels
    ]

print("noise " + "".join(f"{level:>10.2%}" for level in levels))
for name, values in moves.items():
    print(f"{name:6}" + "".join(f"{value:>10.2%}" for value in values))

figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
for name, values in moves.items():
    ax.loglog(levels, values, "o-", label=name)
ax.set(
    xlabel="relative noise in the lengths",
    ylabel="move / median distance of different networks",
    title="How far noise moves a network",
)
ax.legend()
plt.show()
