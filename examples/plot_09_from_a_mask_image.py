"""
From a mask image to a kernel
=============================

Networks often come as images: vessels, cracks, roads from above. Three steps lead to a metric graph:
a mask, its skeleton (scikit-image), and the graph of the skeleton (sknw). From there on, everything
works as with any other metric graph.
"""

import matplotlib.pyplot as plt
import numpy as np
import sknw
from skimage.draw import line
from skimage.morphology import dilation, disk, skeletonize

import torelli as tt


def mask_of(graph, size=500):
    """Return an image in which the edges of a graph are thick white lines."""
    xy = graph.coordinates[:, :2]
    low, high = xy.min(axis=0), xy.max(axis=0)
    pixels = np.round((xy - low) / (high - low).max() * (size - 21) + 10).astype(int)
    image = np.zeros((size, size), dtype=bool)
    for one, two in zip(pixels[graph.tail], pixels[graph.head], strict=True):
        image[line(one[1], one[0], two[1], two[0])] = True
    return dilation(image, disk(2))


def graph_of(mask):
    """Return the metric graph of the skeleton of a mask; lengths are in pixels."""
    skeleton = skeletonize(mask)
    return tt.as_metric_graph(sknw.build_sknw(skeleton.astype(np.uint16), multi=True), length="weight")


patterns = tt.datasets.street_patterns(6, radius=250.0, seed=0)
masks = [mask_of(graph) for graph in patterns.graphs]
graphs = [graph_of(mask) for mask in masks]

figure, axes = plt.subplots(1, 3, figsize=(12, 4), layout="constrained")
tt.plot.graph(patterns.graphs[0], ax=axes[0])
axes[0].set_title("a network")
axes[1].imshow(masks[0], cmap="gray", origin="lower")
axes[1].set_title("its mask")
axes[2].imshow(skeletonize(masks[0]), cmap="gray", origin="lower")
axes[2].set_title(f"the skeleton: genus {graphs[0].genus} ({patterns.graphs[0].genus} before)")

# %%
# The mask loses details: streets that are close together become one. The kernel still arranges the
# networks by pattern, because short segments have little weight in it.

names = np.asarray(patterns.target_names)[patterns.y]
tt.plot.kernel_pca(
    tt.TTMKernel(weights="length").fit_transform(graphs), names, title="24 networks from masks"
)
plt.show()
