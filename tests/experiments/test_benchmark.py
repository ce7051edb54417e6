"""The comparison on benchmark sets, on the smallest of them."""

import json
from dataclasses import replace

import numpy as np
import pytest

from torelli import DataNotFoundError
from torelli.datasets import TU_NAMES
from torelli.datasets.storage import shared_data
from torelli.experiments import Settings, benchmark, run
from torelli.experiments._benchmark_page import Table
from torelli.experiments._experiment import Cell

OURS = (("TTE", "uniform"), ("TTM", "unit"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """Measure a few cells of MUTAG, one of them with too little time."""
    pytest.importorskip("grakel")
    try:
        shared_data("tu", "MUTAG.zip")
    except DataNotFoundError as error:
        pytest.skip(str(error))
    folder = tmp_path_factory.mktemp("benchmark")
    keys = [
        ("majority", "unit"),
        ("WL", "unit"),
        ("kCD", "uniform"),
        ("TTE literal", "uniform"),
        *OURS,
    ]
    few_cells = [Cell({"dataset": "MUTAG", "method": method, "lengths": lengths}) for method, lengths in keys]
    with pytest.MonkeyPatch.context() as patch:
        few = benchmark.EXPERIMENT.__class__(
            **{**vars(benchmark.EXPERIMENT), "cells": lambda _: few_cells, "measure": _impatient}
        )
        patch.setattr(benchmark, "FAIR", replace(benchmark.FAIR, costs=(1.0,)))
        rows = run(few, folder, Settings(quick=True), workers=2, verbose=False)
    return rows, folder


def _impatient(key, settings):
    if key["method"] == "kCD":
        settings = Settings(settings.quick, settings.seed, seconds=0.5)
    return benchmark.measure(key, settings)


def test_known_accuracies(measured):
    """MUTAG by the paper's protocol: 84.1 for TTE in both models, two in three for the largest class."""
    table = Table(measured[0])
    assert table.get("MUTAG", "TTE", "paper")["accuracy"] == pytest.approx(84.1, abs=1.0)
    assert table.get("MUTAG", "TTE literal", "paper")["accuracy"] == pytest.approx(84.1, abs=1.0)
    assert table.get("MUTAG", "majority", "paper")["accuracy"] == pytest.approx(66.5, abs=0.1)
    assert table.get("MUTAG", "WL", "paper")["accuracy"] == pytest.approx(83.5, abs=2.0)


def test_a_baseline_without_time_is_marked_and_the_sweep_goes_on(measured):
    rows, folder = measured
    assert Table(rows).get("MUTAG", "kCD", "paper")["status"] == "T"
    assert "| T |" in (folder / "README.md").read_text()
    stored = [json.loads(line) for line in (folder / "cells.jsonl").read_text().splitlines()[1:]]
    late = next(line["rows"] for line in stored if line["cell"]["method"] == "kCD")
    assert benchmark.EXPERIMENT.again(late, Settings(seconds=60))
    assert not benchmark.EXPERIMENT.again(late, Settings(seconds=0.1))


def test_time_and_memory_are_measured(measured):
    row = Table(measured[0]).get("MUTAG", "TTE", "paper")
    assert row.keys() >= {"fit_seconds", "transform_seconds"}
    assert 50 < row["peak_mb"] < 2000


def test_what_is_chosen_inside_is_one_of_ours(measured):
    """The chosen accuracies are, fold by fold, those of the kernel with the best inner accuracy."""
    table = Table(measured[0])
    assert table.chosen("MUTAG", ("TTE",)) == table.folds("MUTAG", "TTE", "uniform")
    both = [table.folds("MUTAG", method, lengths) for method, lengths in OURS]
    assert all(x in pair for x, *pair in zip(table.chosen("MUTAG"), *both, strict=True))
    assert table.best_baseline("MUTAG")[0] == "WL"


def test_ttm_takes_part_in_the_fair_protocol_with_times(measured):
    """MUTAG with unit lengths, nested folds: well above the genus alone."""
    rows = [row for row in measured[0] if row["method"] == "TTM"]
    assert [row["protocol"] for row in rows] == ["fair"]
    assert rows[0]["accuracy"] > 84.0
    assert "fit_seconds" in rows[0]
    assert "max_genus" not in rows[0]


def test_cells_of_ttm_cost_what_its_vectors_cost():
    """A choice among kernels costs more than one kernel, and large graphs more than small ones."""
    costs = {
        (cell.key["dataset"], cell.key["lengths"]): cell.cost
        for cell in benchmark.cells(Settings())
        if cell.key["method"] == "TTM"
    }
    assert costs["DD", "unit"] > 2 * costs["DD", "uniform"]
    assert costs["REDDIT-MULTI-5K", "unit"] > 10 * costs["MUTAG", "unit"]


def test_every_set_and_kernel_of_the_paper_is_there():
    """23 sets, six baselines, ours in both models, and the lengths that a set has."""
    cells = benchmark.cells(Settings())
    assert {cell.key["dataset"] for cell in cells} == set(TU_NAMES)
    methods = {cell.key["method"] for cell in cells}
    assert methods == {
        "majority", "genus", "EH", "GS", "OS", "SP", "WL", "kCD",
        "TTE literal", "TTW literal", "TTE", "TTW", "TTS", "TTM", "sum",
    }  # fmt: skip
    with_distances = {cell.key["dataset"] for cell in cells if cell.key["lengths"] == "attribute"}
    assert with_distances == {"BZR_MD", "COX2_MD", "DHFR_MD", "ER_MD"}
    assert len({json.dumps(dict(cell.key)) for cell in cells}) == len(cells)


def test_only_ttw_is_truncated():
    assert benchmark.largest_block("TTE", 5000) is None
    assert [benchmark.largest_block("TTW", n) for n in (200, 1178, 4999)] == [100, 50, 25]


def test_the_sum_has_two_kernels_for_each_kind_of_length(measured):
    """TTE and TTS with doubled bridges: graphs that differ in their bridges alone are apart."""
    squared, _, _ = benchmark.ours("MUTAG", "sum", "all", 0, 300)
    plain, _, _ = benchmark.ours("MUTAG", "TTE", "unit", 0, None)
    assert len(squared) == 4
    assert np.count_nonzero(squared[0] == 0) < np.count_nonzero(plain[0] == 0)


def test_draws_are_averaged(measured):
    """The fair figure of uniform lengths is that of the mean kernel, not of the first draw."""
    squared, _, _ = benchmark.ours("MUTAG", "TTE", "uniform", 0, None)
    assert len(squared) == benchmark.DRAWS
    assert not np.allclose(squared[0], squared[1])
