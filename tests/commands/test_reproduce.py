"""``torelli reproduce``."""

import json
import sys
from types import ModuleType

import pytest
from matplotlib.figure import Figure

from torelli import experiments
from torelli._errors import InvalidOptionError
from torelli.cli import main
from torelli.commands.reproduce import chosen
from torelli.experiments import Cell, Experiment


@pytest.fixture
def toy(monkeypatch):
    """Add an experiment as a contributor does: one module, one entry."""
    module = ModuleType("torelli.experiments.toy")
    module.EXPERIMENT = Experiment(
        name="toy",
        title="Squares",
        section="",
        shows="That squares grow.",
        minutes=130,
        cells=lambda settings: [Cell({"number": i}) for i in range(2 if settings.quick else 4)],
        measure=lambda key, _: [{"square": key["number"] ** 2}],
        page=lambda rows: f"The last is {rows[-1]['square']}.",
        figures=lambda _: {"squares": Figure()},
        outcome=lambda rows: f"{len(rows)} squares.",
    )
    monkeypatch.setitem(sys.modules, "torelli.experiments.toy", module)
    monkeypatch.setattr(experiments, "EXPERIMENTS", (*experiments.EXPERIMENTS, "toy"))


def test_an_experiment_is_one_module_and_one_entry(toy, tmp_path, capsys):
    """It is listed, run, continued and shown in the list of results."""
    assert main(["reproduce"]) == 0
    assert "toy           Squares (not in the paper; about 2 h)" in capsys.readouterr().out
    assert main(["reproduce", "toy", "--out", str(tmp_path), "--only", "number=3"]) == 0
    assert not (tmp_path / "toy" / "README.md").exists()
    assert main(["reproduce", "toy", "--out", str(tmp_path)]) == 0
    assert "The last is 9." in (tmp_path / "toy" / "README.md").read_text()
    assert (
        "| [toy](toy/README.md) | That squares grow. | 4 squares. |" in (tmp_path / "README.md").read_text()
    )
    record = json.loads((tmp_path / "toy" / "run.json").read_text())
    assert [sitting["cells"] for sitting in record["sittings"]] == [1, 3]
    assert record["sittings"][1]["command"].startswith("torelli reproduce toy --out")


@pytest.mark.parametrize("given", [["--out", "{}"], ["--out={}"]])
def test_a_record_names_no_folder_of_the_machine(toy, tmp_path, monkeypatch, given):
    """Absolute folders are stored relative to the current one, or by their name alone."""
    for here, stored in ((tmp_path, "docs/results"), (tmp_path / "elsewhere", "results")):
        here.mkdir(exist_ok=True)
        monkeypatch.chdir(here)
        results = tmp_path / "docs" / "results"
        assert main(["reproduce", "toy", "--fresh", *(part.format(results) for part in given)]) == 0
        record = json.loads((results / "toy" / "run.json").read_text())
        assert record["sittings"][-1]["command"].endswith(given[-1].format(stored))
        assert str(tmp_path) not in record["sittings"][-1]["command"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["tyo"], "unknown experiment 'tyo'"),
        (["toy", "--workers", "0"], "must be positive"),
        (["toy", "--seed", "-1"], "--seed is -1"),
        (["toy", "--only", "number"], "--only is 'number'"),
        (["toy", "--only", "number=9"], "unknown number '9'"),
    ],
)
def test_options_that_cannot_work_are_refused(toy, tmp_path, capsys, options, words):
    """The message names the option, and nothing is computed."""
    assert main(["reproduce", *options, "--out", str(tmp_path)]) != 0
    assert words in capsys.readouterr().err
    assert not (tmp_path / "toy" / "cells.jsonl").exists()


def test_the_selection_of_the_command_line():
    """Values of one part may stand together or apart."""
    assert chosen(["method=WL,TTE literal", "dataset=MUTAG", "method=SP"]) == {
        "method": ["WL", "TTE literal", "SP"],
        "dataset": ["MUTAG"],
    }
    for text in ("WL", "=WL", "method="):
        with pytest.raises(InvalidOptionError, match="give PART=VALUE"):
            chosen([text])
