"""Results of a classification as a folder that a spreadsheet, NumPy and `torelli.read` can open.

- ``run.json``: command, seed, date, versions, machine, options and classes;
- ``scores.csv``: a line for each classifier; ``predictions.csv``: a line for each graph;
- ``kernels.npz``: the kernel matrix of all graphs by metric;
- ``graphs.jsonl.gz``: the graphs with their labels, so that the folder is complete.

The key, column or array ``run`` of each file identifies the run that wrote it, by a digest of the whole
result. Files of different runs are refused.
"""

from __future__ import annotations

import csv
import json
import zipfile
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, get_args

import numpy as np

from torelli._errors import DataNotFoundError, FormatError, TorelliError, listed, quoted, shortened
from torelli._files import parse_object, settle, whole_folder
from torelli._types import Along
from torelli.classification import Classification, Score
from torelli.io import Record, read_records
from torelli.io.jsonlines import write_json_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli.graph import MetricGraph


KIND = "classification"
_SCORES = (
    "classifier", "accuracy", "low", "high", "fold_std", "right", "graphs", "gamma", "seconds_distances",
    "seconds_svm", "chosen",
)  # fmt: skip
_MAX_RECORD = 2**24
_NPY_HEADER = 2**12  # bytes, more than the header of a stored array
_TEXTS, _TABLES = ("run", "title", "command"), ("options", "versions")


def save(outcome: Classification, folder: Path, about: dict[str, Any]) -> None:
    """Write a result to a folder, with its record `about`: title, command, seed, machine and versions.

    All files appear at once. A process that is killed leaves the new result or the one that was there
    before, never a mixture.
    """
    record = {"kind": KIND, **about, "options": outcome.about, "classes": outcome.classes}
    record.pop("run", None)  # left over if the result was loaded
    scores = [_score_row(outcome, score) for score in outcome.scores]
    predictions = list(_prediction_rows(outcome))
    run = _digest([record, scores, predictions], outcome)
    names = [score.name for score in outcome.scores]
    of_scores = [f"{name} {column}" for name in names for column in ("predicted", "margin")]
    columns = ["name", "label", "fold", "genus", *of_scores]
    with whole_folder(folder) as part:
        text = json.dumps({"run": run, **record}, indent=2)
        (part / "run.json").write_text(text + "\n", encoding="utf-8")
        _write_csv(part / "scores.csv", [*_SCORES, "run"], ([*row, run] for row in scores))
        _write_csv(part / "predictions.csv", [*columns, "run"], ([*row, run] for row in predictions))
        np.savez(part / "kernels.npz", run=np.array(run), **outcome.kernels)  # type: ignore[arg-type]
        records = (
            Record(graph.replace(name=name), {"label": outcome.classes[label], "run": run})
            for graph, name, label in zip(outcome.graphs, outcome.names, outcome.y, strict=True)
        )
        write_json_lines(part / "graphs.jsonl.gz", records)


def load(folder: Path) -> tuple[Classification, dict[str, Any]]:
    """Return a result that `save` wrote, and its record.

    Raises
    ------
    FormatError
        If a file is damaged or missing, or if the files are from different runs.
    """
    about = read_about(folder)
    with _part(folder, "run.json", about):
        _check(about)
    with _part(folder, "scores.csv", about):
        lines = _read_csv(folder / "scores.csv")
    with _part(folder, "predictions.csv", about):
        rows = _read_csv(folder / "predictions.csv")
    with _part(folder, "kernels.npz", about):
        run_of_kernels = _run_of_kernels(folder / "kernels.npz")
    with _part(folder, "graphs.jsonl.gz", about):
        graphs, runs_of_graphs = _read_graphs(folder / "graphs.jsonl.gz")
    _check_runs(
        folder,
        about,
        {
            "scores.csv": {line.get("run") or "" for line in lines},
            "predictions.csv": {row.get("run") or "" for row in rows},
            "kernels.npz": {run_of_kernels},
            "graphs.jsonl.gz": runs_of_graphs,
        },
    )
    if len(graphs) != len(rows):
        problem = f"{len(graphs):,} graphs, but {len(rows):,} predictions"
        raise FormatError(f"{folder.name}: {problem}; {_remedy(about)}")
    class_index = {label: index for index, label in enumerate(about["classes"])}
    with _part(folder, "kernels.npz", about):
        kernels = _read_kernels(folder / "kernels.npz", len(rows))
    with _part(folder, "predictions.csv or scores.csv", about):
        y, fold = _labels(rows, class_index)
        scores = [_score(line, rows, y, fold, class_index) for line in lines]
        _check_scores(scores, kernels)
    names, options = [row["name"] for row in rows], about.get("options", {})
    return Classification(graphs, names, about["classes"], y, fold, scores, kernels, options), about


def read_about(folder: Path) -> dict[str, Any]:
    """Return the record of a result: the contents of ``run.json``."""
    if not folder.is_dir():
        raise DataNotFoundError(f"there is no folder {quoted(str(folder), 400)}; give the folder of a result")
    settle(folder)
    file = folder / "run.json"
    if not file.is_file():
        raise FormatError(
            f"{folder.name}: this is not the folder of a result (it has no run.json); create one with "
            "torelli classify INPUT --out FOLDER"
        )
    try:
        if file.stat().st_size > _MAX_RECORD:
            raise FormatError(f"run.json: more than {_MAX_RECORD:,} bytes")  # noqa: TRY301  (the same remedy)
        return parse_object(file.read_bytes(), "run.json")
    except FormatError as error:
        raise FormatError(
            f"{folder.name}: {error}; compute the result again, with torelli classify or torelli reproduce"
        ) from error


def _digest(plain: list[Any], outcome: Classification) -> str:
    """Return the identifier of a run: a digest of the whole result."""
    state = blake2b(json.dumps(plain).encode(), digest_size=8)
    for K in outcome.kernels.values():
        state.update(np.ascontiguousarray(K).reshape(-1).data)
    for graph in outcome.graphs:
        state.update(graph.digest)
    return state.hexdigest()


@contextmanager
def _part(folder: Path, name: str, about: dict[str, Any]) -> Iterator[None]:
    """Turn any error into one that names the file, and says how to get the result again."""
    try:
        yield
    except Exception as error:
        kind = "" if isinstance(error, (TorelliError, OSError)) else f"{type(error).__name__}: "
        problem = shortened(" ".join(f"{kind}{error}".split()), 300)
        raise FormatError(f"{folder.name}: {name} cannot be read ({problem}); {_remedy(about)}") from error


def _remedy(about: dict[str, Any]) -> str:
    command = about.get("command")
    again = shortened(command, 400) if isinstance(command, str) and command else "torelli classify"
    return f"compute the result again: {again}"


def _check(about: dict[str, Any]) -> None:
    """Raise an error if a record is not one of a classification."""
    classes = about.get("classes")
    if not isinstance(classes, list) or not all(isinstance(label, str) for label in classes):
        raise FormatError("'classes' is not a list of names")
    if len(set(classes)) != len(classes):
        raise FormatError("'classes' has a class twice")
    for keys, kind, expected in ((_TEXTS, str, "text"), (_TABLES, dict, "an object")):
        wrong = [key for key in keys if not isinstance(about.get(key, kind()), kind)]
        if wrong:
            raise FormatError(f"{wrong[0]!r} is not {expected}")
    along = about.get("options", {}).get("along")
    if along not in (None, *get_args(Along)):
        raise FormatError(f"'along' is {quoted(along)}, not one of {listed(get_args(Along))}")


def _check_runs(folder: Path, about: dict[str, Any], runs_of_files: dict[str, set[str]]) -> None:
    """Raise an error if the files are from different runs."""
    run = about.get("run", "")
    if run and all(runs == {run} for runs in runs_of_files.values()):
        return
    listed = ", ".join(
        f"{name} from {' and '.join(shortened(str(one), 30) or 'none' for one in sorted(runs, key=str)[:2])}"
        for name, runs in {"run.json": {run}, **runs_of_files}.items()
    )
    raise FormatError(f"{folder.name}: the files are from different runs ({listed}); {_remedy(about)}")


def _labels(
    rows: list[dict[str, str]], class_index: dict[str, int]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the class and the fold of each graph."""
    y = np.array([class_index[row["label"]] for row in rows], dtype=np.int64)
    fold = np.array([int(row["fold"]) for row in rows], dtype=np.int64)
    if set(fold.tolist()) != set(range(len(set(fold.tolist())))):
        raise FormatError("the folds are not numbered from 0")
    return y, fold


def _score(
    line: dict[str, str],
    rows: list[dict[str, str]],
    y: NDArray[np.int64],
    fold: NDArray[np.int64],
    class_index: dict[str, int],
) -> Score:
    """Return the score of a classifier from its line and its columns of the predictions."""
    name = line["classifier"]
    predicted = np.array([class_index[row[f"{name} predicted"]] for row in rows], dtype=np.int64)
    return Score(
        name,
        predicted,
        np.array([_float_or_nan(row[f"{name} margin"]) for row in rows]),
        np.array([(predicted == y)[fold == index].mean() for index in range(fold.max() + 1)]),
        _float_or_nan(line["gamma"]),
        tuple(line["chosen"].split("; ")) if line["chosen"] else (),
        float(line["seconds_distances"]),
        float(line["seconds_svm"]),
    )


def _run_of_kernels(path: Path) -> str:
    """Return the run that wrote the kernel matrices, '' if the file does not say."""
    with zipfile.ZipFile(path) as archive:
        sizes = {member.filename: member.file_size for member in archive.infolist()}
    if not 0 < sizes.get("run.npy", 0) < _NPY_HEADER:
        return ""
    with np.load(path) as file:
        return str(file["run"])


def _check_scores(scores: list[Score], kernels: dict[str, NDArray[np.float64]]) -> None:
    """Raise an error if a kernel has no score, or one that is not finite."""
    known = {score.name: score for score in scores}
    for name in kernels:
        if name not in known:
            raise FormatError(f"there is no line for the kernel {quoted(name)}")
        if not np.isfinite([known[name].gamma, *known[name].margin]).all():
            raise FormatError(f"the gamma or a margin of the kernel {quoted(name)} is not a number")


def _read_kernels(path: Path, size: int) -> dict[str, NDArray[np.float64]]:
    """Return the kernel matrices."""
    with zipfile.ZipFile(path) as archive:
        largest = max(member.file_size for member in archive.infolist())
    if largest > 8 * size * size + _NPY_HEADER:
        raise FormatError(f"a matrix is larger than that of {size:,} graphs")
    with np.load(path) as file:
        kernels = {name: file[name] for name in file.files if name != "run"}
    for name, K in kernels.items():
        if K.shape != (size, size) or K.dtype != np.float64 or not ((K >= 0) & (K <= 1)).all():
            raise FormatError(f"{quoted(name)} is not a kernel matrix of {size:,} graphs")
    if not kernels:
        raise FormatError("there is no kernel matrix")
    return kernels


def _read_graphs(path: Path) -> tuple[list[MetricGraph], set[str]]:
    """Return the graphs, and the runs that wrote them."""
    records = read_records(path)
    return [record.graph for record in records], {str(record.fields.get("run")) for record in records}


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
    for index, graph in enumerate(outcome.graphs):
        row: list[object] = [
            outcome.names[index],
            outcome.classes[outcome.y[index]],
            int(outcome.fold[index]),
            graph.genus,
        ]
        for score in outcome.scores:
            row += [outcome.classes[score.predicted[index]], _cell(score.margin[index])]
        yield row


def _cell(value: np.float64) -> float | str:
    return "" if np.isnan(value) else float(value)


def _float_or_nan(text: str) -> float:
    return float(text) if text else float("nan")


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def _read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))
