"""The commands ``torelli features``, ``torelli kernel`` and ``torelli plan``, and the options they share."""

from __future__ import annotations

import argparse
import json

import numpy as np
import pytest

import torelli as tt
from torelli.cli import main
from torelli.commands.stores import add_graph_arguments, add_store_arguments, byte_count, store_options


@pytest.mark.parametrize(
    ("text", "count"),
    [("4GB", 4 * 10**9), ("500 mb", 5 * 10**8), ("8e9", 8 * 10**9), ("1.5TB", 15 * 10**11), ("7", 7)],
)
def test_bytes_are_read_as_people_write_them(text, count):
    """Units of bytes and powers of ten are understood."""
    assert byte_count(text) == count


@pytest.mark.parametrize("text", ["much", "4 XB", "-3", "", "1e999GB", "1.2.3GB"])
def test_what_is_no_number_of_bytes_is_refused(text):
    """Other text is an error that shows it."""
    with pytest.raises(argparse.ArgumentTypeError, match="not a number of bytes"):
        byte_count(text)


def test_a_cluster_is_an_address_or_a_number():
    """--dask takes the address of a scheduler, or a number of processes."""
    parser = argparse.ArgumentParser()
    add_graph_arguments(parser)
    add_store_arguments(parser, (".zarr",))
    for text, dask in (("tcp://node1:8786", "tcp://node1:8786"), ("4", 4)):
        arguments = parser.parse_args(["a.jsonl", "-o", "f.zarr", "--dask", text, "--memory", "2GB"])
        options = store_options(arguments)
        assert options["dask"] == dask
        assert options["memory"] == 2 * 10**9


def test_features_of_lines(windows, lines, tmp_path, capsys):
    """A file of JSON lines becomes a store with labels; options reach the features."""
    out = tmp_path / "f.zarr"
    command = [
        "features",
        str(lines),
        "-o",
        str(out),
        "--n-features",
        "8",
        "--dtype",
        "float32",
        "--size",
        "0",
    ]
    assert main(command) == 0
    store = tt.open_features(out)
    graphs, labels = windows
    expected = tt.MeasureFeatures(n_features=8, dtype="float32", size=0.0).fit_transform(graphs)
    assert np.allclose(np.asarray(store), expected, atol=1e-5)
    assert store.labels.tolist() == labels
    assert f"{out}: 12 graphs, 40 features" in capsys.readouterr().err


def test_other_options_are_one_line(lines, tmp_path, capsys):
    """A store of other options is refused with exit code 2 and the name of the option."""
    out = tmp_path / "f.zarr"
    main(["features", str(lines), "-o", str(out), "--n-features", "8"])
    assert main(["features", str(lines), "-o", str(out), "--n-features", "9"]) == 2
    error = capsys.readouterr().err
    assert "n_features is 8 there and 9 here" in error
    assert "Traceback" not in error


def test_no_input_is_an_error(tmp_path, capsys):
    """A command without inputs says what to give."""
    assert main(["features", "-o", str(tmp_path / "f.zarr")]) == 2
    assert "no input: give files, or --tu" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_kernel_of_lines(windows, lines, tmp_path, capsys):
    """The matrix is that of the kernel class, and the note says gamma."""
    out = tmp_path / "k.zarr"
    assert main(["kernel", str(lines), "--kernel", "tte", "--bridges", "double", "-o", str(out)]) == 0
    K = tt.TTEKernel(bridges="double").fit_transform(windows[0])
    assert np.allclose(np.asarray(tt.open_kernel(out)), K)
    assert "12 graphs, gamma" in capsys.readouterr().err


@pytest.mark.parametrize("gamma", ["none", "0.25"])
def test_gamma_is_a_number_or_none(windows, lines, tmp_path, gamma):
    """With none, distances are written."""
    out = tmp_path / "k.npy"
    assert main(["kernel", str(lines), "--kernel", "tts", "--gamma", gamma, "-o", str(out)]) == 0
    D = tt.pairwise_distances(windows[0], metric="tts")
    assert np.allclose(np.load(out), D if gamma == "none" else np.exp(-0.25 * D**2), atol=1e-9)
    assert (tmp_path / "k.rows.csv").is_file()


def test_options_of_other_kernels_are_refused(lines, tmp_path, capsys):
    """An option that the kernel does not have is an error."""
    assert main(["kernel", str(lines), "--depth", "3", "-o", str(tmp_path / "k.zarr")]) == 2
    assert "unknown option of the kernel 'ttw': 'depth'" in capsys.readouterr().err


def test_a_plan_is_printed(lines, capsys):
    """The text says what a kernel takes and on which machine that was measured."""
    assert main(["plan", str(lines), "--kernel", "ttw"]) == 0
    out = capsys.readouterr().out
    assert "kernel ttw (float64) of 12 graphs" in out
    assert "78 pairs" in out
    assert "Calibrated by `make bench CASES=scale`" in out


def test_a_plan_as_json(lines, capsys):
    """Figures of features can be read by a program."""
    assert main(["plan", str(lines), "--features", "measure", "--dtype", "float32", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["n_graphs"] == 12
    assert plan["result_bytes"] == 12 * 640 * 4
    assert plan["total_seconds"] > 0


def test_a_plan_for_graphs_that_are_not_there(capsys):
    """--graphs and --genus need no input, and belong together."""
    assert main(["plan", "--graphs", "1e6", "--genus", "50", "--features", "measure", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["n_graphs"] == 10**6
    assert plan["sizes"][0] == 120
    for arguments in (["--graphs", "5"], ["--genus", "5"], ["a.jsonl", "--graphs", "5", "--genus", "5"]):
        assert main(["plan", *arguments]) == 2
        assert "--graphs" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["kernel", "--gamma", "wide"], "'wide' is not a positive number, median or none"),
        (["plan", "--graphs", "many"], "'many' is not a whole number of at least 1, such as 1e6"),
        (["plan", "--graphs", "nan"], "'nan' is not a whole number"),
        (["plan", "--genus", "0.5"], "'0.5' is not a whole number"),
        (["plan", "--graphs", "1e999"], "'1e999' is not a whole number"),
    ],
)
def test_numbers_that_are_none_are_named(capsys, arguments, problem):
    """An option that takes a number says which numbers it takes."""
    with pytest.raises(SystemExit):
        main([*arguments, "a.jsonl", *(["-o", "k.zarr"] if "kernel" in arguments else [])])
    assert problem in capsys.readouterr().err


def test_a_plan_for_too_many_graphs_says_how_many_it_takes(capsys):
    """The largest number of graphs is accepted, and a larger one refused with the limit."""
    assert main(["plan", "--graphs", "1e15", "--genus", "5", "--features", "tts"]) == 0
    assert "1,000,000,000,000,000 graphs" in capsys.readouterr().out
    assert main(["plan", "--graphs", "1e16", "--genus", "5", "--features", "tts"]) == 2
    assert "use a whole number from 1 to 1,000,000,000,000,000" in capsys.readouterr().err


def test_a_store_of_another_kind_is_one_line(lines, tmp_path, capsys):
    """A kernel does not go where features are, and no option of Python is shown."""
    out = str(tmp_path / "out.zarr")
    main(["features", str(lines), "-o", out, "--n-features", "2"])
    assert main(["kernel", str(lines), "-o", out]) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.endswith("is a store of features; choose another name, or start over with --fresh")
