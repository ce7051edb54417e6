"""Results as folders."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import random
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

import torelli as tt
from torelli.cli import main
from torelli.report import report_page
from torelli.report.results import load, save

FILES = ("run.json", "scores.csv", "predictions.csv", "kernels.npz", "graphs.jsonl.gz")


def test_a_result_is_read_back_as_it_was(outcome, about, tmp_path):
    """Graphs, predictions, margins, kernels and what is said of them survive the way to disk, bit for bit."""
    save(outcome, tmp_path / "new", about)
    back, said = load(tmp_path / "new")
    assert back.graphs == outcome.graphs
    assert [graph.crs for graph in back.graphs] == [graph.crs for graph in outcome.graphs]
    assert np.array_equal(back.graphs[0].coordinates, outcome.graphs[0].coordinates)
    assert (back.names, back.classes) == (outcome.names, outcome.classes)
    assert np.array_equal(back.y, outcome.y)
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


KILLED = """
import shutil, sys
from pathlib import Path
from kills import killed_at_every_step
import torelli as tt
from torelli.report.results import load, save

old, target = map(Path, sys.argv[1:3])
outcome, about = load(old)

def prepare():
    shutil.rmtree(target, ignore_errors=True)
    if "before" in sys.argv:
        shutil.copytree(old, target)
        (target / "notes.txt").write_text("not ours")

def act():
    save(outcome, target, {**about, "title": "new"})

prepare()
for _ in killed_at_every_step(act, target):
    try:
        print(load(target)[1]["title"])
    except (tt.FormatError, tt.DataNotFoundError):
        print("none")
    act()
    assert load(target)[1]["title"] == "new"
    names = sorted(path.name for path in target.iterdir())
    print(*names, file=sys.stderr)
    prepare()
"""


@pytest.mark.parametrize("before", ["before", ""])
def test_a_kill_leaves_the_old_result_or_the_new_one(outcome, about, tmp_path, before):
    """Whatever step on disk a ``kill -9`` hits, the report shows one run, and the next run clears up."""
    save(outcome, tmp_path / "old", {**about, "title": "old"})
    paths = [str(Path(__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-c", KILLED, str(tmp_path / "old"), str(tmp_path / "target"), before]
    run = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)  # noqa: S603
    assert run.returncode == 0, run.stderr
    seen = run.stdout.split()
    assert len(seen) > 15
    assert [title for title, _ in groupby(seen)] == ["old" if before else "none", "new"]
    assert set(run.stderr.splitlines()) == {" ".join(sorted([*FILES, *(["notes.txt"] if before else [])]))}


@pytest.fixture
def two(outcome, about, tmp_path):
    """Return the folders of two runs that differ in their seed alone."""
    for name, seed in (("a", 1), ("b", 2)):
        save(outcome, tmp_path / name, {**about, "command": f"torelli classify --seed {seed}", "seed": seed})
    return tmp_path / "a", tmp_path / "b"


@pytest.mark.parametrize("mixture", range(1, 2 ** len(FILES) - 1))
def test_files_of_two_runs_are_refused(two, mixture):
    """However the files of two runs are mixed, the error names them, their runs and the remedy."""
    a, b = two
    runs = [json.loads((folder / "run.json").read_text())["run"] for folder in two]
    taken = [bool(mixture >> at & 1) for at in range(len(FILES))]
    for name, from_b in zip(FILES, taken, strict=True):
        if from_b:
            shutil.copy(b / name, a)
    with pytest.raises(tt.FormatError, match="a: the files are from different runs") as caught:
        load(a)
    for name, from_b in zip(FILES, taken, strict=True):
        assert f"{name} from {runs[from_b]}" in str(caught.value)
    assert f"compute the result again: torelli classify --seed {1 + taken[0]}" in str(caught.value)


def test_a_mixture_is_no_report(two, capsys):
    """The command says so and writes nothing."""
    a, b = two
    shutil.copy(b / "kernels.npz", a)
    assert main(["report", str(a)]) == 2
    assert "from different runs" in capsys.readouterr().err
    assert not (a / "report.html").exists()


def test_lines_of_two_runs_in_one_file_are_refused(two):
    """A table or a list of graphs that was put together from two runs is a mixture as well."""
    a, b = two
    for name in ("predictions.csv", "scores.csv"):
        before = (a / name).read_text()
        lines = before.splitlines(keepends=True)
        (a / name).write_text("".join(lines[:-1] + (b / name).read_text().splitlines(keepends=True)[-1:]))
        with pytest.raises(tt.FormatError, match="from different runs"):
            load(a)
        (a / name).write_text(before)
    content = gzip.decompress((a / "graphs.jsonl.gz").read_bytes()).splitlines(keepends=True)
    other = gzip.decompress((b / "graphs.jsonl.gz").read_bytes()).splitlines(keepends=True)
    (a / "graphs.jsonl.gz").write_bytes(gzip.compress(b"".join(content[:-1] + other[-1:])))
    with pytest.raises(tt.FormatError, match="from different runs"):
        load(a)


def test_a_result_without_its_run_is_refused(two):
    """Files that do not say which run wrote them are no result."""
    record = json.loads((two[0] / "run.json").read_text())
    del record["run"]
    (two[0] / "run.json").write_text(json.dumps(record))
    with pytest.raises(tt.FormatError, match=r"run\.json from none, scores\.csv from"):
        load(two[0])


@pytest.mark.parametrize("name", FILES)
def test_a_damaged_file_is_told(two, name):
    """An empty, cut, missing or strange file is an error of some lines that names it and the remedy."""
    file = two[0] / name
    content = file.read_bytes()
    hostile = [b"", b"\0" * 100, b"{", b"[1]", b"null", b"NaN", b"9" * 10**6, b"[" * 10**5, b"a,b\n" * 9]
    hostile += [content[: len(content) * part // 10] for part in range(1, 10)]
    hostile += [b"\x93NUMPY", b"PK\x03\x04", b"\x80\x04N.", bytes(range(256)) * 10]
    for damaged in hostile:
        file.write_bytes(damaged)
        with pytest.raises(tt.FormatError, match="compute the result again") as caught:
            report_page(two[0], verbose=False)
        assert len(str(caught.value)) < 2_000
    file.unlink()
    with pytest.raises(tt.FormatError, match=r"torelli classify"):
        load(two[0])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        *(("classes", value) for value in (None, 3, {}, [1, 2], ["a"], ["a", "a"], "ab", [["a"]])),
        *((key, value) for key in ("options", "versions") for value in (None, [], 3, "x")),
        *(("options", {"along": value}) for value in (3, [], {}, "x" * 10**6, "tts")),
        *((key, value) for key in ("title", "command") for value in ([], 3, {})),
        *(("run", value) for value in (None, 3, [], {}, "x" * 10**6, float("nan"))),
        *(("kind", value) for value in (None, 3, [], "x" * 10**6)),
    ],
)
def test_a_record_of_other_types_is_told(two, key, value):
    """Valid JSON that is no record is refused as one."""
    record = json.loads((two[0] / "run.json").read_text())
    (two[0] / "run.json").write_text(json.dumps({**record, key: value}))
    with pytest.raises(tt.FormatError) as caught:
        report_page(two[0], verbose=False)
    assert len(str(caught.value)) < 2_000


@pytest.mark.parametrize(
    ("name", "column", "value"),
    [
        *(("predictions.csv", "fold", value) for value in ("", "x", "-1", "7", "1e9", "9" * 10**5, "nan")),
        *(("predictions.csv", "label", value) for value in ("", "none")),
        *(("predictions.csv", "tte predicted", value) for value in ("", "none")),
        *(("predictions.csv", "tte margin", value) for value in ("", "x", "nan", "1e999")),
        *(("scores.csv", "classifier", value) for value in ("", "none")),
        *(("scores.csv", "gamma", value) for value in ("x", "nan", "inf")),
        *(("scores.csv", "seconds_svm", value) for value in ("", "x")),
    ],
)
def test_a_table_with_a_wrong_cell_is_told(two, name, column, value):
    """What is no number, class or classifier is refused."""
    rows = table(two[0] / name)
    rows[1][column] = value  # in the scores that of the second kernel
    with (two[0] / name).open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    with pytest.raises(tt.FormatError, match=name):
        report_page(two[0], verbose=False)


def test_kernels_that_are_none_are_told(two):
    """Matrices of another shape or type, with other values, or none at all, are refused."""
    file = two[0] / "kernels.npz"
    with np.load(file) as found:
        kernels = dict(found)
    size = len(kernels["tte"])
    wrong = [
        np.ones((size, size + 1)), np.ones(size), np.ones((size, size), dtype=complex),
        np.full((size, size), np.nan), np.full((size, size), 1e300), np.full((size, size), -1.0),
        np.full((size, size), None), np.ones((2000, 2000)),
    ]  # fmt: skip
    for matrix in wrong:
        np.savez_compressed(file, **{**kernels, "tte": matrix})
        with pytest.raises(tt.FormatError, match=r"kernels\.npz cannot be read"):
            report_page(two[0], verbose=False)
    for others, words in (({}, "no kernel matrix"), ({**kernels, "other": kernels["tte"]}, "no line")):
        np.savez(file, **{"run": kernels["run"], **others})
        with pytest.raises(tt.FormatError, match=words):
            report_page(two[0], verbose=False)


def test_flipped_bytes_give_a_report_or_an_error(two):
    """No damage of a file ends in a traceback."""
    rng = random.Random(0)  # noqa: S311  (not for secrets)
    for _ in range(200):
        file = two[0] / rng.choice(FILES)
        content = file.read_bytes()
        damaged = bytearray(content)
        for _ in range(rng.randint(1, 4)):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        file.write_bytes(damaged)
        try:
            report_page(two[0], verbose=False)
        except tt.FormatError as error:
            assert len(str(error)) < 2_000  # noqa: PT017  (either outcome is right)
        file.write_bytes(content)
