"""The commands ``torelli classify`` and ``torelli report``."""

from __future__ import annotations

import csv
import io
import json
import re

import pytest

import torelli as tt
from torelli import webpage
from torelli.cli import main
from torelli.experiments import Settings, run
from torelli.io import files
from torelli.io.jsonlines import json_line
from toy_experiment import quick

FAST = ["--kernel", "tte", "--folds", "3"]


def test_json_lines_are_classified(lines, windows, capsys):
    """Labels come from the file; the table has the kernel, its interval and the two lines beside it."""
    assert main(["classify", str(lines), *FAST]) == 0
    text = capsys.readouterr().out
    assert text.startswith("12 graphs, 4 classes, 3 random stratified folds")
    scores = re.findall(
        r"^(TTE|genus alone|majority class) +([\d.]+) +([\d.]+) to ([\d.]+)", text, re.MULTILINE
    )
    assert [row[0] for row in scores] == ["TTE", "genus alone", "majority class"]
    for _, accuracy, low, high in scores:
        assert float(low) <= float(accuracy) <= float(high)


def with_blocks(windows, path, key="group"):
    """Write windows as JSON lines in two groups, in each of which every class has a window or two."""
    lines = [json_line(g, label=y, **{key: i % 3 > 0}) for i, (g, y) in enumerate(zip(*windows, strict=True))]
    path.write_text("".join(f"{line}\n" for line in lines))
    return path


def test_groups_of_the_file_make_blocked_folds(windows, tmp_path, capsys):
    """A key 'group' is used by itself, another one by its name; 'none' gives random folds."""
    lines = with_blocks(windows, tmp_path / "a.jsonl")
    fast = ["--kernel", "tte", "--folds", "2"]
    assert main(["classify", str(lines), *fast, "--report", str(tmp_path / "page.html")]) == 0
    words = "2 blocked folds, which divide none of 2 groups"
    assert capsys.readouterr().out.startswith(f"12 graphs, 4 classes, {words} (group)")
    assert words in (tmp_path / "page.html").read_text(encoding="utf-8")
    assert main(["classify", str(lines), *fast, "--groups", "none"]) == 0
    assert "2 random stratified folds" in capsys.readouterr().out
    lines = with_blocks(windows, tmp_path / "b.jsonl", "city")
    assert main(["classify", str(lines), *fast, "--groups", "city"]) == 0
    assert f"{words} (city)" in capsys.readouterr().out
    assert main(["classify", str(lines), *fast, "--groups", "town"]) == 2
    message = capsys.readouterr().err
    assert "--groups town: 12 of 12 graphs have no such field" in message
    assert "'city'" in message


def test_labels_and_groups_are_attributes_of_graphs_in_graphml(windows, tmp_path, capsys):
    """Attributes of the graphs are labels and groups by name, and there are no more folds than groups."""
    import networkx as nx

    for i, (graph, y) in enumerate(zip(*windows, strict=True)):
        drawn = graph.to_networkx()
        drawn.graph |= {"Type": y, "operator": str(i % 3 > 0), "label": f"network {i}"}
        nx.write_graphml(drawn, tmp_path / f"{i:02}.graphml")
    arguments = ["classify", str(tmp_path), "--kernel", "tte"]
    assert main([*arguments, "--label", "Type", "--groups", "operator"]) == 0
    assert capsys.readouterr().out.startswith("12 graphs, 4 classes, 2 blocked folds")
    # the name of a graph is no class
    assert main(arguments) == 2
    assert re.search(r"no labels.*--label; fields of the graphs are .*'Type'", capsys.readouterr().err)


def test_groups_stand_in_the_table_of_labels(folder, capsys):
    """The column of the groups is one of the table, and a group of one class is refused with the option."""
    table = folder / "labels.csv"
    head, *rows = table.read_text().splitlines()
    body = [f"{row},{i % 3 > 0},{row.split(',')[-1]}" for i, row in enumerate(rows)]
    table.write_text("\n".join([f"{head},block,same", *body]) + "\n")
    fast = ["--kernel", "tte", "--folds", "2"]
    arguments = ["classify", str(folder), "--labels", str(table), "--label", "kind", *fast]
    assert main([*arguments, "--groups", "block"]) == 0
    assert "blocked folds, which divide none of 2 groups (block)" in capsys.readouterr().out
    assert main([*arguments, "--groups", "same"]) == 2
    message = capsys.readouterr().err
    assert "are in one group" in message
    assert "choose other groups, or --groups none for random folds" in message


def test_notes_name_the_file_once_and_speak_of_options(windows, tmp_path, capsys):
    """Overlapping windows without groups are a note that names the option and not the keyword."""
    graphs = [graph.replace(crs="EPSG:4326") for graph in (windows[0][0], windows[0][0]) * 6]
    lines = with_blocks((graphs, ["a", "b"] * 6), tmp_path / "a.jsonl", "city")
    assert main(["classify", str(lines), *FAST]) == 0
    (note,) = [line for line in capsys.readouterr().err.splitlines() if "share nodes" in line]
    assert note.count("a.jsonl") == 1
    assert note.startswith("torelli: note: a.jsonl: 12 of 12 graphs share nodes")
    assert note.endswith("keep them together with --groups")


def test_trees_are_classified_by_their_bridges(tmp_path, capsys):
    """The note names the options of the command, once for all kernels, and the option does what it says."""
    graphs = [tt.MetricGraph([0], [1], [1 + n % 2 + n / 99]) for n in range(12)]
    lines = with_blocks((graphs, ["a", "b"] * 6), tmp_path / "a.jsonl", "city")
    assert main(["classify", str(lines), "--folds", "3"]) == 0
    notes = [line for line in capsys.readouterr().err.splitlines() if "no cycles" in line]
    assert len(notes) == 1
    assert "use --bridges double, or --kernel ttm" in notes[0]
    assert main(["classify", str(lines), "--folds", "3", "--kernel", "tts", "--bridges", "double"]) == 0
    out, err = capsys.readouterr()
    assert "no cycles" not in err
    assert re.search(r"^TTS +100.0", out, re.MULTILINE)


def test_the_variant_of_ttm_is_in_table_and_report(lines, tmp_path, capsys):
    """--along is used, named in the table, kept in the result and named in its report, and needs ttm."""
    out = tmp_path / "result"
    options = ["--folds", "3", "--kernel", "ttm", "tts"]
    assert main(["classify", str(lines), *options, "--along", "returns", "--out", str(out)]) == 0
    table = capsys.readouterr().out
    assert re.search(r"^TTM along returns +[\d.]+ ", table, re.MULTILINE)
    assert re.search(r"^TTS +[\d.]+ ", table, re.MULTILINE)
    assert json.loads((out / "run.json").read_text())["options"]["along"] == "returns"
    assert main(["report", str(out)]) == 0
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "the nearest by TTM along returns alike" in page
    assert re.search(r'"label": ?"TTM along returns"', page)
    capsys.readouterr()
    assert main(["classify", str(lines), *FAST, "--along", "returns"]) == 2
    assert "--along returns: no kernel of 'tte' has this option; use 'ttm'" in capsys.readouterr().err


def test_the_file_is_read_once(lines, monkeypatch):
    """Graphs and labels come from one pass over the file."""
    opened = []
    read = files.chunks

    def counted(path, budget):
        opened.append(path)
        return read(path, budget)

    monkeypatch.setattr(files, "chunks", counted)
    assert main(["classify", str(lines), *FAST]) == 0
    assert opened == [lines]


def test_the_key_of_the_label_can_be_chosen(lines, tmp_path):
    """--label names another key of the objects."""
    assert main(["classify", str(lines), "--label", "pattern", *FAST, "--out", str(tmp_path / "out")]) == 0
    assert json.loads((tmp_path / "out" / "run.json").read_text())["classes"][0] == "is chaotic"


def test_a_folder_with_a_table_of_labels(folder, windows, tmp_path, capsys):
    """The table may lie in the folder; rows are found by the file's name, whatever the column is called."""
    table = folder / "labels.csv"
    out = tmp_path / "out"
    arguments = ["classify", str(folder), "--labels", str(table), "--label", "kind", "--out", str(out), *FAST]
    assert main(arguments) == 0
    rows = list(csv.DictReader(io.StringIO((out / "predictions.csv").read_text())))
    labels = {row["name"]: row["label"] for row in rows}
    assert labels == {graph.name: label for graph, label in zip(*windows, strict=True)}
    record = json.loads((out / "run.json").read_text())
    assert record["command"].startswith(f"torelli classify {folder}")
    assert record["seed"] == 0


def test_missing_labels_and_inputs_are_told(lines, windows, tmp_path, capsys):
    """Without labels the options that give them are named; a line without its label is counted."""
    bare = tmp_path / "bare.jsonl"
    bare.write_text("".join(json_line(graph) + "\n" for graph in windows[0]))
    assert main(["classify", str(bare), *FAST]) == 2
    assert "--labels" in capsys.readouterr().err
    bare.write_text(json_line(windows[0][0], label="a") + "\n" + json_line(windows[0][1]) + "\n")
    assert main(["classify", str(bare), *FAST]) == 2
    assert "1 of 2 graphs have no 'label'" in capsys.readouterr().err
    assert main(["classify"]) == 2
    assert "--tu" in capsys.readouterr().err
    assert main(["classify", str(lines), "--labels", str(tmp_path / "none.csv")]) == 2
    assert "no table of labels" in capsys.readouterr().err


@pytest.mark.parametrize("option", [["--C", "0"], ["--gamma", "often"], ["--folds", "1"], ["--kernel", "wl"]])
def test_options_that_cannot_be_are_refused_at_once(option, capsys):
    """A wrong option is answered by the parser, with its name."""
    with pytest.raises(SystemExit) as stopped:
        main(["classify", "x", *option])
    assert stopped.value.code == 2
    assert option[0] in capsys.readouterr().err


def test_without_plotly_the_extra_is_named_before_computing(lines, monkeypatch, tmp_path, capsys):
    """The report asks for its extra at the start."""
    monkeypatch.setattr(webpage, "find_spec", lambda _: None)
    assert main(["classify", str(lines), "--report", str(tmp_path / "r.html")]) == 2
    output = capsys.readouterr()
    assert "torelli[report]" in output.err
    assert "graphs" not in output.out


def test_a_folder_that_cannot_be_written_to_is_told_before_computing(lines, tmp_path, capsys):
    """A file in the way of the result is one message, and nothing is computed."""
    (tmp_path / "file").touch()
    assert main(["classify", str(lines), *FAST, "--out", str(tmp_path / "file")]) == 2
    output = capsys.readouterr()
    assert "cannot write to the folder" in output.err
    assert "graphs" not in output.out


def test_a_second_result_replaces_the_first(lines, tmp_path, capsys):
    """The same command with another seed gives a whole result again; what else lies in the folder stays."""
    out = tmp_path / "out"
    for seed in ("1", "2"):
        arguments = ["--out", str(out), "--report", str(out / "page.html"), "--seed", seed]
        assert main(["classify", str(lines), *FAST, *arguments]) == 0
        (out / "notes.txt").write_text("mine")
    assert main(["report", str(out)]) == 0
    assert json.loads((out / "run.json").read_text())["seed"] == 2
    assert (out / "notes.txt").read_text() == "mine"


def test_the_report_is_the_same_by_both_ways(lines, tmp_path, capsys):
    """--report writes what `torelli report` makes of the folder of --out."""
    out, one, two = tmp_path / "out", tmp_path / "one.html", tmp_path / "two.html"
    assert main(["classify", str(lines), *FAST, "--out", str(out), "--report", str(one)]) == 0
    assert f"report: {one}" in capsys.readouterr().out
    assert main(["report", str(out), "--out", str(two)]) == 0

    def data(path):
        match = re.search(r'id="torelli-data">(.*?)</script>', path.read_text(encoding="utf-8"))
        return json.loads(match[1])

    assert data(one) == data(two)
    assert one.stat().st_size < 10_000_000


def test_the_report_of_an_experiment_stands_in_its_folder(tmp_path, capsys):
    """Without --out the page is report.html in the folder, and the path is printed."""
    run(quick([]), tmp_path, Settings(quick=True), verbose=False)
    assert main(["report", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"report: {tmp_path / 'report.html'}\n"
    assert "The last is 4." in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_what_has_no_result_has_no_report(tmp_path, capsys):
    """A folder without a result, or none at all, is one message, and nothing is written."""
    for folder in (tmp_path, tmp_path / "missing"):
        out = tmp_path / "page.html"
        assert main(["report", str(folder), "--out", str(out)]) == 2
        assert folder.name in capsys.readouterr().err
        assert not out.exists()
