"""Results as plain files (.npy, .csv or .parquet), each written whole or not at all."""

from __future__ import annotations

import csv
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli._errors import InvalidOptionError, StoreError, quoted
from torelli.io.files import require
from torelli.scale._store import INSIDE, Store, checksum, place

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli.scale.stores import FeatureStore, KernelStore

_WRITTEN = f"{INSIDE}/written.json"
_CLAIMED = f"{INSIDE}/claimed.json"  # says that files which are there may be replaced
_CSV_BYTES = 25  # of a number as text and as an object


def check_ending(target: Path, endings: tuple[str, ...]) -> None:
    """Raise unless a name ends in one of the formats."""
    if target.suffix not in endings:
        raise InvalidOptionError(
            f"{quoted(target.name)}: give a name that ends in {', '.join(endings[:-1])} or {endings[-1]}"
        )


def work_folder(target: Path) -> Path:
    """Return the folder of the store: the target itself, or a hidden folder beside a plain file."""
    return target if target.suffix == ".zarr" else target.with_name(f".{target.name}.torelli")


def rows_file(target: Path) -> Path:
    """Return the table of names and labels beside an .npy file."""
    return target.with_suffix(".rows.csv")


def check_target(target: Path, inputs: Iterable[Path], *, fresh: bool) -> None:
    """Raise if the result would replace a file that torelli did not write, or an input.

    Parameters
    ----------
    target
        The result.
    inputs
        Files that graphs are read from.
    fresh
        Whether the caller wants a file that is there to be replaced; an input is never replaced.
    """
    if target.suffix == ".zarr":
        return
    outputs = [path for path in _files_of(target) if path.exists()]
    for path in outputs:
        if path.is_dir():
            raise StoreError(f"{quoted(str(path), 400)} is a folder; choose another name, or remove it")
        if any(path.samefile(file) for file in inputs if file.exists()):
            raise InvalidOptionError(
                f"{quoted(str(path), 400)} is an input, which the result would replace; choose another name"
            )
    root = work_folder(target)
    if not fresh and not (root / _WRITTEN).exists() and not (root / _CLAIMED).exists():
        _refuse_to_replace(outputs)


def _refuse_to_replace(paths: Iterable[Path]) -> None:
    for path in paths:
        raise StoreError(
            f"{quoted(str(path), 400)} exists, and is no result that torelli knows; choose another name, or "
            "replace it with --fresh (in Python: fresh=True)"
        )


def _files_of(target: Path) -> list[Path]:
    """Return the files of a plain result, the last of them last."""
    return [rows_file(target), target] if target.suffix == ".npy" else [target]


def is_finished(store: Store, target: Path, *, fresh: bool = False, verify: bool = False) -> bool:
    """Return whether a plain file was written before; raise if it has changed since.

    Parameters
    ----------
    fresh
        Files that are there may be replaced, also by a later run that continues this one.
    verify
        Compare the content with its checksum, not only the size.
    """
    if target.suffix == ".zarr":
        return False
    if fresh:
        store.put_json(_CLAIMED, {})
    if _WRITTEN not in store:
        return False
    for name, written in store.read_json(_WRITTEN)["files"].items():
        path = target.with_name(name)
        sound = path.is_file() and path.stat().st_size == written["size"]
        if not sound or (verify and _checksum(path) != written["checksum"]):
            raise StoreError(
                f"{name} was finished before, and is missing or has changed since; start over with --fresh "
                "(in Python: fresh=True)"
            )
    _remove_chunks(store)  # a kill may have come before
    return True


def write_rows(store: Store, source: FeatureStore | KernelStore, target: Path, memory: int) -> None:
    """Write all numbers to a plain file, then remove the chunks they came from."""
    writers: dict[str, Callable[[Any, Path, int], None]] = {
        ".npy": _write_npy,
        ".csv": _write_csv,
        ".parquet": _write_parquet,
    }
    written = _files_of(target)
    if _CLAIMED not in store:
        _refuse_to_replace(path for path in written if path.exists())
        store.put_json(_CLAIMED, {})  # a kill may leave a file that the next run replaces
    if target.suffix == ".npy":
        place(store.root, written[0], lambda part: _write_names(source, part))
    place(store.root, target, lambda part: writers[target.suffix](source, part, memory))
    about = {path.name: {"size": path.stat().st_size, "checksum": _checksum(path)} for path in written}
    store.put_json(_WRITTEN, {"shape": list(source.shape), "files": about})
    _remove_chunks(store)


def _remove_chunks(store: Store) -> None:
    """Remove the numbers that the plain file has."""
    for folder in ("features", "kernel", f"{INSIDE}/data"):
        store.forget([path for path in store.journal.files if path.startswith(f"{folder}/")])
        shutil.rmtree(store.root / folder, ignore_errors=True)


def _checksum(path: Path) -> str:
    """Return a checksum of a file of any size."""
    sums = []
    with path.open("rb") as file:
        while block := file.read(2**24):
            sums.append(checksum(block))
    return checksum("".join(sums).encode())


def _stripes(
    source: FeatureStore | KernelStore, memory: int, each: int
) -> Iterator[tuple[int, NDArray[Any]]]:
    """Yield the first row and the numbers of a few rows at a time."""
    n_rows, width = source.shape
    height = max(1, min(n_rows, memory // max(each * width, 1)))
    if height >= source.chunks[0]:
        height -= height % source.chunks[0]
    for start in range(0, n_rows, height):
        yield start, source.block(slice(start, min(start + height, n_rows)))


def _write_npy(source: FeatureStore | KernelStore, path: Path, memory: int) -> None:
    with path.open("wb") as file:
        header = {"descr": source.dtype.str, "fortran_order": False, "shape": source.shape}
        np.lib.format.write_array_header_1_0(file, header)
        for _, rows in _stripes(source, memory, source.dtype.itemsize):
            file.write(np.ascontiguousarray(rows).data)  # not a copy


def _write_names(source: FeatureStore | KernelStore, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        labels = source.labels
        writer.writerow(["id"] if labels is None else ["id", "label"])
        ids = source.ids.tolist()
        writer.writerows(zip(ids, strict=True) if labels is None else zip(ids, labels.tolist(), strict=True))


def _write_csv(source: FeatureStore | KernelStore, path: Path, memory: int) -> None:
    columns = source.ids.tolist() if not hasattr(source, "columns") else source.columns
    labels = source.labels
    ids = source.ids.tolist()
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["id", *([] if labels is None else ["label"]), *columns])
        for start, rows in _stripes(source, memory, _CSV_BYTES + source.dtype.itemsize):
            for row, values in enumerate(rows, start):
                # the shortest text that reads back as the same number of this type
                texts = (
                    [repr(value) for value in values.tolist()]
                    if rows.dtype == np.float64
                    else map(str, values)
                )
                writer.writerow([ids[row], *([] if labels is None else [labels[row]]), *texts])


def _write_parquet(source: FeatureStore, path: Path, memory: int) -> None:
    arrow = require("pyarrow", "scale", "a .parquet file")
    parquet = require("pyarrow.parquet", "scale", "a .parquet file")
    kind = arrow.from_numpy_dtype(source.dtype)
    labels = source.labels
    fields = [("id", arrow.string()), *([] if labels is None else [("label", arrow.string())])]
    schema = arrow.schema([*fields, *((name, kind) for name in source.columns)])
    with parquet.ParquetWriter(path, schema) as writer:
        for start, rows in _stripes(source, memory, source.dtype.itemsize):
            stop = start + len(rows)
            text_columns = [arrow.array(source.ids[start:stop].tolist(), arrow.string())]
            if labels is not None:
                text_columns.append(arrow.array(labels[start:stop].tolist(), arrow.string()))
            columns = [arrow.array(column, kind) for column in np.ascontiguousarray(rows.T)]
            writer.write_table(arrow.Table.from_arrays([*text_columns, *columns], schema=schema))
