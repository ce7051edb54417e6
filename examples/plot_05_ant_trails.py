"""
Ant trails before and after
===========================

Wood ants of one colony live in several nests, joined by trails to each other and to trees. Nine colonies
were mapped every summer. In four of them, the ants were kept away from a tree that was important to
them. Does the network of trails change more than it would have changed anyway?

Data: Wood_Ant_Sim (MIT). Its column ``dataset`` divides the maps into early ones, ``Estimation``, and
later ones, ``Empirical``. Without the data, the page uses generated networks.
"""

import matplotlib.pyplot as plt
import numpy as np

import torelli as tt

try:
    ants = tt.datasets.load_ants()
    graphs = ants.graphs
    colony = np.array([row["colony"] for row in ants.index])
    year = np.array([int(row["year"]) for row in ants.index])
    treatment = np.array([row["treatment"] for row in ants.index])
    later = np.array([row["dataset"].startswith("Empirical") for row in ants.index])
except tt.DataNotFoundError:
    year, colony = np.tile(np.arange(2012, 2020), 9), np.repeat(np.arange(9).astype(str), 8)
    treatment, later = np.where(colony < "4", "exclusion", "control"), np.tile(np.arange(8) > 3, 9)
    sizes = 10 + colony.astype(int) + 2 * (year % 3)
    graphs = [tt.datasets.random_geometric(int(n), 0.4, seed=i) for i, n in enumerate(sizes)]

chosen = [np.flatnonzero(np.isin(colony, names)) for names in (("10", "0"), ("8",))]
figure, axes = plt.subplots(2, 4, figsize=(12, 5.5), layout="constrained")
for members, row in zip(chosen, axes, strict=True):
    by_year = members[np.argsort(year[members])]
    for i, ax in zip(by_year[np.linspace(0, len(by_year) - 1, 4).astype(int)], row, strict=True):
        tt.plot.measure(graphs[i], ax=ax)
        ax.set_title(f"colony {colony[i]}, {year[i]} ({treatment[i]})", fontsize="small")

# %%
# The drawings are layouts: what counts is which nests and trees are joined, and how long the trails are.
#
# The TTM distance between two maps of one colony says how much it changed. We take all pairs of an
# early and a late map. Pairs of two early maps show how much a colony changes on its own.

features = tt.MeasureFeatures().fit(graphs)
x = features.transform(graphs)
distance = np.linalg.norm(x[:, None] - x, axis=2)
same = colony[:, None] == colony
early = ~later[:, None] & ~later & np.triu(np.ones_like(same), 1).astype(bool)
across = ~later[:, None] & later
for kind in ("control", "exclusion"):
    ratios = []
    for name in np.unique(colony[treatment == kind]):
        own = (colony[:, None] == name) & same
        if (own & across).any() and (own & early).any():
            ratios.append(np.median(distance[own & across]) / np.median(distance[own & early]))
    listed = ", ".join(f"{ratio:.2f}" for ratio in ratios)
    print(f"{kind:10} later maps at {np.median(ratios):.2f} times the distance of early ones ({listed})")

# %%
# Nine colonies are not many. The two groups overlap, so the medians prove nothing. But a colony clearly
# resembles itself: its nearest map is one of its own far more often than by chance.

np.fill_diagonal(distance, np.inf)
own = np.mean(colony[distance.argmin(axis=1)] == colony)
chance = np.mean([(np.sum(colony == c) - 1) / (len(colony) - 1) for c in colony])
print(f"the nearest other map is of the same colony for {own:.0%} of maps, {chance:.0%} by chance")

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
for name in np.unique(colony):
    of = np.flatnonzero(colony == name)
    of = of[np.argsort(year[of])]
    style = "-" if treatment[of[0]] == "control" else "--"
    ax.plot(year[of], [graphs[i].total_length for i in of], style, marker=".", label=f"{name}")
ax.set(xlabel="year", ylabel="length of all trails (m)", title="dashed: colonies kept away from a tree")
ax.legend(title="colony", ncols=2, fontsize="small")
plt.show()
