"""The time of the kernel matrices against the number of nodes."""

from tiny import run_tiny
from torelli.experiments import Settings, runtime


def test_the_genera_are_those_of_the_paper():
    """Nine settings by ten numbers of nodes, with the genus that each formula gives."""
    keys = [cell.key for cell in runtime.cells(Settings())]
    assert len(keys) == 90
    assert {key["n"] for key in keys} == set(range(50, 141, 10))
    genera = {runtime.GENUS[key["sparsity"]](key["n"], key["c"]) for key in keys if key["n"] == 100}
    assert genera == {5, 10, 20, 100, 150, 200, int(100**1.1), int(100**1.2), int(100**1.3)}


def test_a_tiny_run_times_every_step(tmp_path):
    """Each class of sparsity has a line on the page, from times of the map and of each kernel."""
    rows, page = run_tiny(
        runtime.EXPERIMENT, tmp_path, lambda key: key["n"] in (50, 80) and key["c"] in (5, 1.0, 0.1)
    )
    assert {row["sparsity"] for row in rows} == {"sparse", "semi-sparse", "dense"}
    assert all(row[step] > 0 for row in rows for step in ("map_s", "tte_s", "ttw_s", "tts_s"))
    assert "g = n^1.1" in page


def test_exponents_are_those_of_the_law():
    """Made-up times that follow the theory give its exponents and no deviation."""
    rows = [
        {"sparsity": name, "c": c, "n": n, "genus": (g := runtime.GENUS[name](n, c)), "map_s": 0.0}
        | {"tte_s": 1e-6 * g**2, "ttw_s": 1e-8 * g**3, "tts_s": 1e-8 * g**3}
        for name, constants in runtime.CLASSES.items()
        for c in constants
        for n in range(50, 141, 10)
    ]
    off = runtime.deviations(rows)
    assert len(off) == 12
    assert max(map(abs, off.values())) < 0.05
