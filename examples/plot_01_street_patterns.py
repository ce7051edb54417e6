"""
Streets of four patterns
========================

The paper distinguishes four patterns of street networks: gridiron, linear, tributary and chaotic. Here
they are made by generators that were calibrated on real cities. Each window is coloured by its
canonical measure: how much each street takes part in cycles. Dead ends are grey.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

import torelli as tt

data = tt.datasets.street_patterns(25, radius=300.0, seed=0)
names = np.asarray(data.target_names)[data.y]

figure, axes = plt.subplots(1, 4, figsize=(13, 3.5), layout="constrained")
for name, ax in zip(data.target_names, axes, strict=True):
    tt.plot.measure(data.graphs[int(np.flatnonzero(names == name)[0])], ax=ax)
    ax.set_title(name)

# %%
# A kernel compares two windows by one number between 0 and 1. Kernel PCA arranges the windows so that
# similar ones are near each other. Nothing here has seen the labels, which only give the colours.

kernel = tt.TTMKernel()
K = kernel.fit_transform(data.graphs)
tt.plot.kernel_pca(K, names, title="100 windows by their canonical measure")

# %%
# A support vector machine on the kernel recognises the pattern of windows that it has not seen.

model = make_pipeline(tt.TTMKernel(), SVC(kernel="precomputed", C=100))
predicted = cross_val_predict(model, data.graphs, names, cv=5)
tt.plot.confusion(names, predicted, title=f"{np.mean(predicted == names):.0%} of windows recognised")
plt.show()
