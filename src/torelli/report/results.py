"""The result of a classification as a folder that a spreadsheet, NumPy and `torelli.read` can open.

- ``run.json``: command, seed, date, versions, machine, options, classes;
- ``scores.csv``: a line for each classifier; ``predictions.csv``: a line for each graph;
- ``kernels.npz``: the kernel matrix of all graphs by metric;
- ``graphs.jsonl.gz``: the graphs with their labels, so that the folder stands by itself.
"""

from __future__ import annotations

import csv
import gzip
import json
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import DataNotFoundError, FormatError, quoted
from torelli.classification import Classification, Score
from torelli.io.jsonlines import json_line
from torelli.io.read import read

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path


KIND = "classification"
_SCORES = (
    "classifier", "accuracy", "low", "high", "fold_std", "right", "graphs", "gamma", "seconds_distances",
    "seconds_svm", "chosen",
)  # fmt: skip


def save(outcome: Classification, folder: Path, about: dict[str, Any]) -> None:
    """Write a result; `about` is what it says of itself: title, command, seed, machine and versions."""
    folder.mkdir(parents=True, exist_ok=True)
    record = {"kind": KIND, **about, "options": outcome.about, "classes": outcome.classes}
    (folder / "run.json").write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    _write_csv(folder / "scores.csv", _SCORES, (_score_row(outcome, score) for score in outcome.scores))
    names = [score.name for score in outcome.scores]
    columns = [
        "name",
        "label",
        "fold",
        "genus",
        *(f"{a} {b}" for a in names for b in ("predicted", "margin")),
    ]
    _write_csv(folder / "predictions.csv", columns, _prediction_rows(outcome))
    np.savez(folder / "kernels.npz", **outcome.kernels)  # type: ignore[arg-type]
    with gzip.GzipFile(folder / "graphs.jsonl.gz", "wb", mtime=0) as file:
        for graph, name, number in zip(outcome.graphs, outcome.names, outcome.number, strict=True):
            line = json_line(graph.replace(name=name), label=outcome.classes[number])
            file.write(line.encode("ascii") + b"\n")


def load(folder: Path) -> tuple[Classification, dict[str, Any]]:
    """Read a result that `save` wrote, and what it says of itself."""
    about = read_about(folder)
    rows = _read_csv(folder / "predictions.csv")
    classes = about["classes"]
    numbers = {label: number for number, label in enumerate(classes)}
    fold = np.array([int(row["fold"]) for row in rows])
    number = np.array([numbers[row["label"]] for row in rows])
    scores = []
    for line in _read_csv(folder / "scores.csv"):
        predicted = np.array([numbers[row[f"{line['classifier']} predicted"]] for row in rows])
        scores.append(
            Score(
                line["classifier"],
                predicted,
                np.array([_number(row[f"{line['classifier']} margin"]) for row in rows]),
                np.array([(predicted == number)[fold == at].mean() for at in range(fold.max() + 1)]),
                _number(line["gamma"]),
                tuple(line["chosen"].split("; ")) if line["chosen"] else (),
                float(line["seconds_distances"]),
                float(line["seconds_svm"]),
            )
        )
    with np.load(folder / "kernels.npz") as file:
        kernels = {name: file[name] for name in file.files}
    graphs = read(folder / "graphs.jsonl.gz")
    if len(graphs) != len(rows):
        raise FormatError(f"{folder.name}: {len(graphs):,} graphs, but {len(rows):,} predictions")
    names = [row["name"] for row in rows]
    return Classification(graphs, names, classes, number, fold, scores, kernels, about["options"]), about


def read_about(folder: Path) -> dict[str, Any]:
    """Return what a result says of itself."""
    if not folder.is_dir():
        raise DataNotFoundError(f"no folder {quoted(str(folder), 400)}; give the folder of a result")
    try:
        about = json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise FormatError(
            f"{folder.name}: not the folder of a result (it has no run.json); make one with "
            "torelli classify INPUT --out FOLDER"
        ) from error
    except ValueError as error:
        raise FormatError(
            f"{folder.name}: run.json cannot be read ({error}); make the result again"
        ) from error
    if not isinstance(about, dict):
        raise FormatError(f"{folder.name}: run.json is not an object; make the result again")
    return about


def _score_row(outcome: Classification, score: Score) -> list[object]:
    right = outcome.right(score)
    low, high = outcome.interval(score)
    chosen = score.chosen if len(set(score.chosen)) > 1 else score.chosen[:1]
    return [
        score.name, float(right.mean()), low, high, float(score.fold_accuracies.std()), int(right.sum()),
        len(right), "" if np.isnan(score.gamma) else score.gamma, round(score.seconds_distances, 4),
        round(score.seconds_svm, 4), "; ".join(chosen),
    ]  # fmt: skip


def _prediction_rows(outcome: Classification) -> Iterable[list[object]]:
    for at, graph in enumerate(outcome.graphs):
        row: list[object] = [
            outcome.names[at],
            outcome.classes[outcome.number[at]],
            int(outcome.fold[at]),
            graph.genus,
        ]
        for score in outcome.scores:
            row += [outcome.classes[score.predicted[at]], _cell(score.margin[at])]
        yield row


def _cell(value: np.float64) -> float | str:
    return "" if np.isnan(value) else float(value)


def _number(text: str) -> float:
    return float(text) if text else float("nan")


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
