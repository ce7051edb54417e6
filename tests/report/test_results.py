"""Results as folders."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import torelli as tt
from torelli.report.results import load, save


def test_a_result_is_read_back_as_it_was(outcome, about, tmp_path):
    """Graphs, predictions, margins, kernels and what is said of them survive the way to disk, bit for bit."""
    save(outcome, tmp_path / "new", about)
    back, said = load(tmp_path / "new")
    assert back.graphs == outcome.graphs
    assert [graph.crs for graph in back.graphs] == [graph.crs for graph in outcome.graphs]
    assert np.array_equal(back.graphs[0].coordinates, outcome.graphs[0].coordinates)
    assert (back.names, back.classes) == (outcome.names, outcome.classes)
    assert np.array_equal(back.number, outcome.number)
    assert np.array_equal(back.fold, outcome.fold)
    for ours, theirs in zip(back.scores, outcome.scores, strict=True):
        assert ours.name == theirs.name
        assert np.array_equal(ours.predicted, theirs.predicted)
        assert np.array_equal(ours.margin, theirs.margin, equal_nan=True)
        assert np.allclose(ours.fold_accuracies, theirs.fold_accuracies)
        assert ours.gamma == theirs.gamma or np.isnan([ours.gamma, theirs.gamma]).all()
    for name, K in outcome.kernels.items():
        assert np.array_equal(back.kernels[name], K)
    assert (said["command"], said["seed"]) == ("torelli classify 'a b'", 0)
    assert said["versions"]["torelli"] == tt.__version__


def table(path):
    """Return the rows of a table."""
    return list(csv.DictReader(io.StringIO(path.read_bytes().decode("utf-8"), newline="")))


def test_the_tables_say_what_they_hold(outcome, about, tmp_path):
    """A spreadsheet finds a line for each graph and classifier, with the accuracy between its bounds."""
    save(outcome, tmp_path, about)
    rows = table(tmp_path / "predictions.csv")
    assert [row["name"] for row in rows] == outcome.names
    for line in table(tmp_path / "scores.csv"):
        right = [row["label"] == row[f"{line['classifier']} predicted"] for row in rows]
        assert float(line["accuracy"]) == np.mean(right)
        assert float(line["low"]) < float(line["accuracy"]) < float(line["high"])


def test_the_same_result_is_the_same_bytes(outcome, about, tmp_path):
    """Nothing but the date could differ between two folders of one result."""
    for name in "ab":
        save(outcome, tmp_path / name, about)
    for file in (tmp_path / "a").iterdir():
        if file.name != "kernels.npz":
            assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


def test_what_is_no_result_is_told(tmp_path):
    """A missing folder, one without run.json and one with a broken one are messages with the remedy."""
    with pytest.raises(tt.DataNotFoundError, match="no folder"):
        load(tmp_path / "nothing")
    with pytest.raises(tt.FormatError, match="torelli classify"):
        load(tmp_path)
    for broken in ("{", "[1]"):
        (tmp_path / "run.json").write_text(broken)
        with pytest.raises(tt.FormatError, match=r"run\.json"):
            load(tmp_path)
