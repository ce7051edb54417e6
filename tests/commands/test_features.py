"""``torelli features``."""

from __future__ import annotations

import numpy as np

import torelli as tt
from torelli.cli import main


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
