"""``torelli kernel``."""

from __future__ import annotations

import numpy as np
import pytest

import torelli as tt
from torelli.cli import main


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
