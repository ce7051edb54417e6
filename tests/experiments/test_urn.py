"""The street experiment, on a part of two sets."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from torelli import DataNotFoundError
from torelli.datasets.storage import shared_data
from torelli.evaluation import RBFKernels
from torelli.experiments import Settings, run, urn
from torelli.experiments._experiment import Cell
from torelli.experiments._urn_data import BASELINES, LINES, OURS, SETS

QUICK = Settings(quick=True)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure some cells, one of them with too little time."""
    pytest.importorskip("grakel")
    try:
        shared_data("urn", "graphs", "index.csv")
    except DataNotFoundError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("urn")
    methods = (
        "set",
        "genus",
        "statistics",
        "TTE",
        "TTS, bridges",
        "TTM",
        "combined",
        "combined + statistics",
        "WL",
        "OS",
    )
    cells = [Cell({"set": "URN2-1S", "method": method}) for method in methods]

    def measure(key, settings):
        if key["method"] == "OS":
            settings = dataclasses.replace(settings, seconds=0.2)
        return urn.measure(key, settings)

    few = dataclasses.replace(urn.EXPERIMENT, cells=lambda _: cells, measure=measure)
    return run(few, folder, QUICK, verbose=False), folder


def score(rows, method, folds="random", protocol="chosen"):
    matching = [
        row
        for row in rows
        if row["kind"] == "score"
        and (row["method"], row["folds"], row["protocol"]) == (method, folds, protocol)
    ]
    return matching[0]["accuracy"]


def test_our_kernels_know_more_than_the_genus(measured):
    """Buffalo and Ufa, 120 windows: the combination is far ahead of the genus, for both kinds of folds."""
    rows, _ = measured
    for folds in ("random", "blocked"):
        assert score(rows, "combined + statistics", folds) > score(rows, "genus", folds) + 10
        assert score(rows, "TTM", folds) > score(rows, "genus", folds) + 10
    assert score(rows, "TTE", protocol="paper") > 50


def test_confusions_count_every_graph_once(measured):
    """Rows and columns of a confusion add up to the set."""
    rows, _ = measured
    chosen = [row for row in rows if row["kind"] == "confusion" and row["method"] == "combined"]
    for folds in ("random", "blocked"):
        assert sum(row["count"] for row in chosen if row["folds"] == folds) == 120
    right = sum(
        row["count"] for row in chosen if row["folds"] == "random" and row["true"] == row["predicted"]
    )
    assert 100 * right / 120 == pytest.approx(score(rows, "combined"), abs=2)


def test_blocks_count_every_window_once(measured):
    """Windows of all blocks are the set, and those that are right are on the diagonal of the confusions."""
    rows, _ = measured
    for method in ("TTM", "statistics", "WL"):
        blocks = [row for row in rows if row["kind"] == "block" and row["method"] == method]
        assert sum(row["windows"] for row in blocks) == 120
        assert all(0 <= row["right"] <= row["windows"] for row in blocks)
        diagonal = [
            row["count"]
            for row in rows
            if row["kind"] == "confusion"
            and (row["method"], row["folds"], row["true"]) == (method, "blocked", row["predicted"])
        ]
        assert sum(row["right"] for row in blocks) == sum(diagonal)


def test_a_baseline_without_time_is_marked_and_tried_again_with_more(measured):
    """T stands in the tables; a wider cap measures the cell anew, the same one does not."""
    rows, folder = measured
    failed = [row for row in rows if row["kind"] == "failed"]
    assert [(row["method"], row["status"]) for row in failed] == [("OS", "T")]
    assert "| T |" in (folder / "README.md").read_text(encoding="utf-8")
    assert urn.EXPERIMENT.again(failed, Settings(seconds=300.0))
    assert not urn.EXPERIMENT.again(failed, Settings(seconds=0.2))


def test_the_page_shows_what_was_measured(measured):
    """Every accuracy of the table is that of the CSV, the paper's figures stand beside, figures are there."""
    rows, folder = measured
    text = (folder / "README.md").read_text(encoding="utf-8")
    for method in ("genus", "statistics", "WL", "TTE", "TTM", "combined"):
        for folds in ("random", "blocked"):
            assert f"{score(rows, method, folds):.1f}" in text
    assert "*87.50 ± 5.24*" in text
    assert json.loads((folder / "run.json").read_text(encoding="utf-8"))["quick"]
    for figure in ("accuracy", "kernel_pca", "confusion"):
        assert (folder / f"{figure}.png").stat().st_size > 1000
        assert (folder / f"{figure}.svg").exists()


def test_cells_cover_every_set_and_method():
    """Ten sets, each described and measured by every method, and what models of synthetic patterns do."""
    cells = urn.EXPERIMENT.cells(Settings())
    transfers = len(urn.RADII) * len(urn.TRANSFER_METHODS)
    assert len(cells) == len(SETS) * (1 + len(OURS) + len(LINES) + len(BASELINES)) + transfers
    assert len({json.dumps(dict(cell.key)) for cell in cells}) == len(cells)


def test_kernel_pca_has_a_direction():
    """Turning the kernel matrix of a set around does not mirror its picture."""
    rng = np.random.default_rng(0)
    data = urn.StreetSet([], np.array(["a"] * 20), None, 1.0)
    table = rng.standard_normal((20, 3))
    one = urn._kernel_pca(RBFKernels(features=[table]), data)
    two = urn._kernel_pca(RBFKernels(features=[table[::-1]]), data)[::-1]
    assert np.allclose([row["x"] for row in one], [row["x"] for row in two])
