"""The sections of the report of a classification."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
from sklearn.metrics import confusion_matrix

from torelli.report import classification
from torelli.report.classification import SECTIONS, ClassificationReport, classification_page
from torelli.webpage import section, unpack


def embedded(page):
    """Return the data of a page."""
    return json.loads(re.search(r'id="torelli-data">(.*?)</script>', page, flags=re.DOTALL)[1])


def test_a_section_is_a_function_and_an_entry(outcome, about, monkeypatch):
    """A function that takes the report and returns HTML is a section once it is in the list."""

    def largest_genus(report: ClassificationReport):
        return section("Largest genus", max(graph.genus for graph in report.outcome.graphs), anchor="largest")

    monkeypatch.setattr(classification, "SECTIONS", (*SECTIONS, largest_genus))
    page = classification_page(outcome, about)
    genus = max(graph.genus for graph in outcome.graphs)
    assert f'<section id="largest"><h2>Largest genus</h2>{genus}</section>' in page
    assert page.index('id="run"') < page.index('id="largest"')


def test_the_page_has_the_figures_of_the_result(outcome, about):
    """Confusion matrices, kernel matrices by class and thumbnails in the page are those of the result."""
    data = embedded(classification_page(outcome, about))
    arrays = unpack(data["arrays"])
    order = np.argsort(outcome.y, kind="stable")
    for score in outcome.scores:
        if score.name in outcome.kernels:
            counts = confusion_matrix(outcome.y, score.predicted)
            assert data["kernels"][score.name]["confusion"] == counts.tolist()
            K = outcome.kernels[score.name][np.ix_(order, order)]
            cells = arrays[f"heat.{score.name}"].reshape(K.shape) / 255
            np.testing.assert_allclose(cells, K, atol=0.51 / 255)
    drawn = np.diff(arrays["thumbnail.segments"].astype(int)) > 0
    assert drawn.tolist() == [graph.n_edges > 0 for graph in outcome.graphs]


def test_the_majority_class_is_explained_where_classes_are_even(outcome, about):
    """Even classes make it a guess among them; else the largest class is named with its share."""
    assert "it guesses one of 4, and 25.0 % are expected" in classification_page(outcome, about)
    y = np.where(np.arange(len(outcome.y)) < 6, 0, 1)
    uneven = replace(outcome, classes=["few", "many"], y=y, kernels={}, scores=outcome.scores[-1:])
    text = classification._baselines(uneven)
    assert "the largest class, many, has 75.0 % of the graphs" in text
    assert "is below that because" in text
