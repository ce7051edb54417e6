"""``torelli patterns``."""

from __future__ import annotations

import csv
import gzip
import re
from typing import TYPE_CHECKING

import pytest

from torelli.cli import main
from torelli.commands.patterns import format_table
from torelli.datasets.calibration import Comparison
from torelli.datasets.streets import PATTERNS, street_pattern

if TYPE_CHECKING:
    from pathlib import Path

GRAPHML = """<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="y" for="node" attr.name="y" attr.type="double"/>
<key id="x" for="node" attr.name="x" attr.type="double"/>
<key id="l" for="edge" attr.name="length" attr.type="double"/>
<graph edgedefault="undirected">{nodes}{edges}</graph></graphml>
"""


@pytest.fixture
def no_cities(monkeypatch, tmp_path) -> Path:
    monkeypatch.setenv("TORELLI_DATA", str(tmp_path))
    return tmp_path


@pytest.fixture
def small_cities(no_cities) -> Path:
    """One city of each pattern: a large synthetic window, written as the shared data is."""
    folder = no_cities / "urn" / "graphs"
    folder.mkdir(parents=True)
    with (folder / "index.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["file", "city", "pattern", "network", "nodes"])
        for pattern in PATTERNS:
            graph = street_pattern(pattern, radius=600, seed=1)
            degrees = graph.coordinates / 111_195.0
            nodes = "".join(
                f'<node id="{i}"><data key="x">{x!r}</data><data key="y">{y!r}</data></node>'
                for i, (x, y) in enumerate(degrees.tolist())
            )
            edges = "".join(
                f'<edge source="{u}" target="{v}" id="{i}"><data key="l">{x!r}</data></edge>'
                for i, (u, v, x) in enumerate(
                    zip(graph.tail.tolist(), graph.head.tolist(), graph.length.tolist(), strict=True)
                )
            )
            with gzip.open(folder / f"{pattern}.graphml.gz", "wt") as city:
                city.write(GRAPHML.format(nodes=nodes, edges=edges))
            rows.writerow([f"{pattern}.graphml.gz", pattern.title(), pattern, "A", graph.n_nodes])
        rows.writerow(["missing.graphml.gz", "Elsewhere", "linear", "D", 10])
        rows.writerow(["missing.graphml.gz", "Nowhere", "", "A", 10])
    return no_cities


def test_without_real_cities_the_synthetic_means_stand_alone(no_cities, capsys) -> None:
    """The note names the missing folder and the variable, and the table has no ranges."""
    assert main(["patterns", "--windows", "3", "--radius", "150"]) == 0
    output = capsys.readouterr().out
    assert str(no_cities / "urn" / "graphs") in output
    assert "TORELLI_DATA" in output
    assert "windows of 300 m x 300 m" in output
    assert output.count("gridiron") == 8
    assert " .. " not in output
    assert "inside" not in output


@pytest.mark.usefixtures("small_cities")
def test_with_real_cities_each_figure_is_judged(capsys) -> None:
    """Each row has a range and a verdict; networks of another kind and cities without pattern stay out."""
    code = main(["patterns", "--windows", "4", "--radius", "150"])
    output = capsys.readouterr().out
    assert "real cities: 1 gridiron, 1 linear, 1 chaotic, 1 tributary; 4 windows each" in output
    rows = [line for line in output.splitlines() if " .. " in line]
    assert len(rows) == 32
    assert all(line.endswith(("inside", "OUTSIDE")) for line in rows)
    # a single city's range is a point, which a synthetic mean does not hit
    assert code == 1


@pytest.mark.usefixtures("no_cities")
def test_examples_are_drawn(tmp_path) -> None:
    """The option --plot writes a PNG."""
    picture = tmp_path / "patterns.png"
    assert main(["patterns", "--windows", "1", "--radius", "150", "--plot", str(picture)]) == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.usefixtures("no_cities")
@pytest.mark.parametrize(
    ("file", "problem"),
    [
        ("nowhere/patterns.png", "there is no folder"),
        ("patterns.doc", r"must end in one of .*\.png"),
        ("patterns", r"must end in one of .*\.png"),
        ("folder.png", "this is a folder"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused_at_once(
    file, problem, tmp_path, monkeypatch, capsys
) -> None:
    """Folder and suffix of --plot are checked before anything is computed."""
    (tmp_path / "folder.png").mkdir()
    monkeypatch.setattr("torelli.commands.patterns.compare", pytest.fail)
    assert main(["patterns", "--plot", str(tmp_path / file)]) == 2
    output = capsys.readouterr()
    assert re.search(f"torelli: --plot .*{file}: .*{problem}", output.err)
    assert output.out == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--radius", "1"],
            "argument --radius: 1 is out of range: give half the side in metres",
        ),
        (["--radius", "150", "nan"], "argument --radius: nan is out of range"),
        (["--windows", "0"], "argument --windows: 0 is too small, give 1 or more"),
        (["--seed", "-1"], "argument --seed: -1 is too small, give 0 or more"),
    ],
)
def test_options_that_cannot_be_are_named(arguments, message, capsys) -> None:
    """An impossible value ends with code 2, and the message has the option and what is possible."""
    with pytest.raises(SystemExit) as stopped:
        main(["patterns", *arguments])
    assert stopped.value.code == 2
    assert message in capsys.readouterr().err


def test_the_table_says_what_lies_outside() -> None:
    """Means within the range are inside, bounds included; others stand out."""
    table = format_table(
        [
            Comparison("linear", "genus", 1.0, 2.0, 2.0),
            Comparison("linear", "nodes", 5.0, 10.0, 11.0),
        ]
    )
    assert table.splitlines()[1].split() == ["linear", "genus", "1", "..", "2", "2", "inside"]
    assert table.splitlines()[2].split()[-1] == "OUTSIDE"
