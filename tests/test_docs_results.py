"""The pages in docs/results say what their data say."""

import json
import re
from pathlib import Path

import pytest
from benchmarks.__main__ import page as benchmark_page

from torelli._provenance import three_digits
from torelli.experiments import EXPERIMENTS, get_experiment, index, stored_rows
from torelli.experiments._pages import as_csv, page
from torelli.report import report_page

ROOT = Path(__file__).parents[1] / "docs" / "results"
FOLDERS = sorted(path.parent for path in ROOT.glob("*/README.md"))

pytestmark = pytest.mark.skipif(not FOLDERS, reason="docs/results is not beside the tests")


def experiment_of(folder):
    return get_experiment(json.loads((folder / "run.json").read_text())["experiment"])


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_csv_and_page_are_those_of_the_stored_cells(folder):
    """Rendering the stored cells anew gives both files, byte for byte."""
    experiment = experiment_of(folder)
    rows = stored_rows(experiment, folder)
    assert as_csv(rows).encode() == (folder / f"{experiment.name}.csv").read_bytes()
    assert page(experiment, rows, folder).encode() == (folder / "README.md").read_bytes()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_pictures_of_the_page_are_there(folder):
    """Every figure stands beside the page in both formats, and the page shows it."""
    experiment = experiment_of(folder)
    text = (folder / "README.md").read_text()
    for name in experiment.figures(stored_rows(experiment, folder)):
        assert f"]({name}.png)" in text
        assert (folder / f"{name}.png").exists()
        assert (folder / f"{name}.svg").exists()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_record_is_of_the_code_as_it_is(folder):
    """Rows were measured by this version of the experiment, by a command without a machine's paths."""
    record = json.loads((folder / "run.json").read_text())
    assert record["version"] == experiment_of(folder).version
    assert not record["quick"]
    for sitting in record["sittings"]:
        assert sitting["command"].startswith("torelli reproduce")
        assert " /" not in sitting["command"]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_report_takes_a_stored_folder(folder):
    """Each folder is one whole result to `torelli report`."""
    assert "How this was measured" in report_page(folder, verbose=False)


def test_the_list_of_results_is_that_of_the_data():
    """Every outcome in docs/results/README.md comes from the stored cells."""
    expected = index([get_experiment(name) for name in EXPERIMENTS], ROOT)
    assert (ROOT / "README.md").read_bytes() == expected.encode()
    assert expected.count("\n| [") == len(FOLDERS)


@pytest.mark.parametrize(
    ("page", "heading", "least"), [("README.md", "torelli", 4), ("docs/speed.md", "Speed", 10)]
)
def test_the_speeds_of_the_pages_were_measured(page, heading, least):
    """Every ratio in README and on the page of speeds stands in the results of the benchmarks."""
    measured = json.loads((ROOT.parent / "benchmarks" / "results.json").read_text())
    rows = [row for case in measured.values() for row in case["rows"] if row["theirs"] is not None]
    known = {f"{three_digits(row['figure'])}x" for row in rows}
    text = (ROOT.parents[1] / page).read_text()
    section = text.partition(f"# {heading}\n")[2].partition("\n## ")[0]
    ratios = re.findall(r"\b[\d.,]+x\b", section)
    assert len(ratios) >= least
    assert set(ratios) <= known


def test_the_page_of_the_benchmarks_is_that_of_its_figures():
    """Every figure on docs/benchmarks/README.md comes from results.json."""
    folder = ROOT.parent / "benchmarks"
    expected = benchmark_page(json.loads((folder / "results.json").read_text()))
    assert (folder / "README.md").read_bytes() == expected.encode()


def test_the_tables_of_choices_are_those_of_their_commands():
    """The guide to the measure shows every line that `benchmarks.choose_measure` stored, with its command."""
    guide = (ROOT.parent / "measure.md").read_text()
    tables = json.loads((ROOT.parent / "benchmarks" / "choices.json").read_text())
    assert set(tables) == {
        f"python -m benchmarks.choose_measure{name}" for name in ("", " cities", " consolidated")
    }
    for command, table in tables.items():
        assert f"`{command}`" in guide
        missing = [row[0] for row in table["rows"][1:] if f"| {' | '.join(row)} |" not in guide]
        assert not missing, f"{command}: {missing}"
