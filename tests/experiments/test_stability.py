"""How far methods move: on grids, whose copies a test makes."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import torelli as tt
from torelli.experiments import Settings, stability
from torelli.experiments._copies import CHANGES, OF_WINDOWS, Windows
from torelli.experiments._measurement import Outcome
from torelli.experiments.methods import METHODS


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Write windows of two kinds and some of their copies."""
    folder = tmp_path_factory.mktemp("copies")
    patterns = tt.datasets.street_patterns(10, radius=150, seed=0)
    large = np.array([graph.n_edges >= 10 for graph in patterns.graphs])
    keep = np.concatenate([np.flatnonzero(large & (patterns.y == kind))[:8] for kind in (0, 2)])
    graphs = [patterns.graphs[i].replace(crs=None) for i in keep]
    y = np.array(["a", "", "b"])[patterns.y[keep]]
    originals = folder / "originals"
    originals.write_bytes(pickle.dumps(Windows(graphs, y, np.arange(len(keep)) % 4 + 4 * patterns.y[keep])))
    rng = np.random.default_rng(0)
    written = {}
    for name in ("reordered", "lengths 0.1 %", "5 % missing"):
        copies = [OF_WINDOWS[name](graph, rng) for graph in graphs]
        if name == "5 % missing":
            copies[3] = tt.MetricGraph([0], [1], [5.0])
        path = folder / name
        path.write_bytes(pickle.dumps(copies))
        written[name] = (str(originals), str(path))
    return written


@pytest.fixture(scope="module")
def rows(files):
    return {name: stability.compare(name, files, None, 0) for name in ("TTM", "TTW", "TTE literal", "genus")}


def test_the_same_space_does_not_move_ttm(rows):
    """Reordered copies are at distance 0 and found, and a classifier says of them what it said before."""
    row = rows["TTM"][0]
    assert row["change"] == "reordered"
    assert row["moved"] < 1e-6
    assert row["found"] == 100.0
    assert row["accuracy"] == row["accuracy_before"]
    assert row["windows"] == row["among"] == 16


def test_more_noise_moves_farther(rows):
    """A little noise moves a little, and missing streets more."""
    moved = [row["moved"] for row in rows["TTM"]]
    assert moved[0] < moved[1] < 1.0 < moved[2]
    assert all(row["moved_95"] >= row["moved"] for row in rows["TTM"][1:])


def test_a_method_that_tells_little_apart_finds_little(rows):
    """The genus never moves under noise, but many windows tie with the own one."""
    noisy = rows["genus"][1]
    assert noisy["moved"] == 0.0
    assert noisy["found"] < 80.0


def test_a_copy_without_edges_is_left_out_and_counted(rows):
    """One copy has a single edge: it is not compared, and the row says so."""
    missing = rows["TTW"][2]
    assert (missing["windows"], missing["left_out"], missing["among"]) == (15, 1, 16)


def test_fewer_windows_are_evenly_chosen(files):
    """A slow method is compared on some of the windows, copies with their own originals."""
    (row, *_) = stability.compare("TTS", files, 5, 0)
    assert row["among"] == 5
    assert row["moved"] < 1e-6


def test_one_of_k_that_tie_is_found_one_time_in_k():
    """A method that calls all windows equal finds nothing."""
    squared = np.array([[0.0, 1.0, 2.0], [1.0, 1.0, 1.0], [0.5, 3.0, 0.5]])
    np.testing.assert_allclose(stability.found(squared, np.arange(3)), [1.0, 1 / 3, 1 / 2])
    assert stability.found(np.zeros((2, 4)), np.array([0, 3])).tolist() == [0.25, 0.25]


def test_cells_are_the_methods_and_slow_ones_have_fewer_windows():
    """Every method of the table exists; a quick run has some of them."""
    full = [cell.key["method"] for cell in stability.cells(Settings())]
    quick = [cell.key["method"] for cell in stability.cells(Settings(quick=True))]
    assert set(quick) < set(full) <= set(METHODS)
    assert set(stability.FEWER) <= set(full)
    for method in full:
        parts = [cell.key["changes"] for cell in stability.cells(Settings()) if cell.key["method"] == method]
        assert [change for part in parts for change in stability.PARTS[part]] == list(CHANGES)


def test_a_method_out_of_time_has_its_mark_for_each_change(monkeypatch):
    """The time is that of all changes together, and more of it measures the cell again."""
    asked = {}

    class NoCopies:
        def files(self, change):
            return change, change

    def call(function, arguments, **caps):
        asked.update(caps)
        return Outcome("T")

    monkeypatch.setattr(stability, "_copies", lambda **_: NoCopies())
    monkeypatch.setattr(stability, "call", call)
    key = {"method": "TTS", "changes": "preparation"}
    rows = stability.measure(key, Settings(seconds=10.0))
    assert [row["change"] for row in rows] == list(stability.PARTS["preparation"])
    assert asked["seconds"] == 10.0 * len(rows)
    assert stability.EXPERIMENT.again(rows, Settings(seconds=11.0))
    assert not stability.EXPERIMENT.again(rows, Settings(seconds=10.0))


def row(method, change, *, moved=0.1, found=100.0, accuracy=50.0, **other):
    """Return a row as the experiment stores it."""
    return {
        "method": method,
        "change": change,
        "status": "ok",
        "windows": 900,
        "left_out": 0,
        "among": 1000,
        "cities": 15,
        "moved": moved,
        "moved_95": 2 * moved,
        "found": found,
        "accuracy": accuracy,
        "accuracy_before": 60.0,
        "seconds": 1.0,
        **other,
    }


def rows_of(method, **other):
    return [row(method, change, **other) for change in CHANGES]


def line_of(text, start):
    """Return the cells of the first line of a table that starts with a word."""
    return next(
        [cell.strip() for cell in line[1:-1].split("|")]
        for line in text.splitlines()
        if line.startswith(f"| {start} |")
    )


def test_goals_are_met_or_not_with_their_figures():
    """Noise, the worst of the small changes, and both ways of consolidation."""
    rows = rows_of("TTM")
    rows[CHANGES.index("simplified")]["found"] = 98.0
    rows[CHANGES.index("consolidated")]["found"] = 79.0
    goals = line_of(stability._goals(stability.Table(rows)), "TTM")
    assert goals == ["TTM", "0.1 %, met", "98 %, not met", "79 %, not met", "100 %, met"]


def test_what_could_not_be_computed_has_its_mark_and_its_caps():
    """T stands in every table, the goals say that nothing was measured, and the caps are named."""
    lost = [
        {"method": "GW", "change": change, "status": "T", "cap_seconds": 300.0, "cap_gigabytes": 8.0}
        for change in CHANGES
    ]
    text = stability.page([*rows_of("TTM", left_out=2), *lost])
    assert line_of(text, "GW")[1:] == ["not measured"] * 4
    assert "- GW: T (300 s a change, 8 GB)." in text
    assert "| GW | T | T |" in text
    assert "left out: reordered 2," in text
    assert "1,000 squares of 500 m of 15 cities" in text


def test_every_figure_stands_in_its_table():
    """Moved, found and accuracies are those of the rows, with the number of windows."""
    text = stability.page(rows_of("TTS", moved=1.25, found=87.5, accuracy=43.2))
    assert "| TTS | 1.25 |" in text
    assert "| TTS | 2.5 |" in text
    assert "| TTS | 87.5 |" in text
    assert text.count("| 1,000 |") == 1
    assert "| TTS | 60.0 | 43.2 |" in text


def test_the_outcome_is_that_of_ttm_beside_the_best_other():
    """Without TTM there is nothing to say."""
    text = stability.outcome([*rows_of("TTM", found=82.0), *rows_of("WL", found=70.0)])
    assert "moves TTM by 0.1 %" in text
    assert "for 82 % (WL 70 %)" in text
    assert stability.outcome(rows_of("WL")) == ""


def test_the_figure_has_a_cell_for_each_method_and_change():
    """Figures that are missing stay empty."""
    rows = [*rows_of("TTM"), {"method": "GW", "change": CHANGES[0], "status": "M"}]
    figure = stability.figures(rows)["stability"]
    assert [len(ax.texts) for ax in figure.axes[:2]] == [len(CHANGES)] * 2
    assert len(figure.axes[0].get_yticklabels()) == 2
