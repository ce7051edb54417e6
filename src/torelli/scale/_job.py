"""One call that writes a store: the code that `write_features` and `write_kernel` share.

`Job` checks the arguments and opens the store. `Rows` computes one row for each graph of the inputs, once,
and compares the inputs of later runs with the rows that are there.
"""

from __future__ import annotations

import shutil
import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli import _memory
from torelli._errors import (
    DataWarning,
    Fault,
    InvalidGraphError,
    InvalidOptionError,
    StoreError,
    quoted,
    shortened,
    warn,
)
from torelli._units import metres
from torelli._validate import is_positive, precision_of
from torelli.features import MeasureFeatures
from torelli.scale import _zarr
from torelli.scale._inputs import Inputs, Reading, digest_of, paths_of
from torelli.scale._plain_files import check_ending, check_target, is_finished, work_folder, write_rows
from torelli.scale._rows import (
    ROWS,
    Recipe,
    RowsResult,
    RowsTask,
    data_path,
    make_rows,
    read_piece,
    rows_path,
)
from torelli.scale._run import check_workers, connected, run
from torelli.scale._store import SPOOL, Store, explain_disk_errors, writing
from torelli.scale.stores import FIT

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from torelli._numerics.threads import Progress
    from torelli._types import Estimator, Precision
    from torelli.datasets.tu import Lengths
    from torelli.distances import Metric
    from torelli.graph import MetricGraph
    from torelli.scale._inputs import Piece
    from torelli.scale.stores import FeatureStore, KernelStore


_READ_SHARE, _WRITE_SHARE = 4, 8  # parts of the memory for reading one graph, and for writing a plain file
N_FIT = 1000
"""Graphs that features are fitted to, from the first on, unless the caller says otherwise."""
_FIT_EDGES = 2_000_000  # most edges of these graphs
_NOTES = 20
_REMEDY = "choose another name, or start over with --fresh (in Python: fresh=True)"
_LEAST_MEMORY = 5 * 10**8
_UNKNOWN = 4 * 2**30  # memory of a machine that does not say


@dataclass(frozen=True)
class Work:
    """A store that is being written.

    Attributes
    ----------
    job
        The call.
    store
        The store, which this process owns.
    rows
        Its rows: those in the store, and those of the inputs.
    transformer
        The fitted transformer from graphs to rows.
    client
        A Dask client, None for this process.
    """

    job: Job
    store: Store
    rows: Rows
    transformer: Estimator
    client: Any

    def compute_rows(self, kind: Any, metric: Metric | None = None) -> int | None:
        """Compute the rows that are missing, and return the number of all (see `Recipe`, `Rows.compute`)."""
        recipe = Recipe(
            str(self.store.root.absolute()),
            self.job.inputs.reading,
            kind,
            self.transformer,
            metric,
            dtype=self.job.dtype,
        )
        return self.rows.compute(recipe, self.client)

    def write_file(self, source: FeatureStore | KernelStore) -> None:
        """Write the plain file, if the result is one."""
        if self.job.target.suffix != ".zarr":
            write_rows(self.store, source, self.job.target, self.job.memory // _WRITE_SHARE)


class Job:
    """What to write, from which graphs and how; the parameters are those of `write_features`.

    Parameters
    ----------
    endings
        Formats that the result may have.
    """

    def __init__(
        self,
        inputs: Any,
        path: str | os.PathLike[str],
        endings: tuple[str, ...],
        *,
        dtype: Precision,
        fit: Any,
        n_fit: int,
        append: bool,
        fresh: bool,
        verify: bool,
        memory: float | None,
        dask: Any,
        label: str,
        tu: tuple[str, ...],
        lengths: Lengths,
        window: float | None,
        step: float | None,
        read_options: Mapping[str, Any] | None,
        verbose: bool | Progress,
    ) -> None:
        self.target = Path(path)
        check_ending(self.target, endings)
        if append and self.target.suffix != ".zarr":
            raise InvalidOptionError(
                f"{self.target.name}: only a store, whose name ends in .zarr, can be appended to"
            )
        if append and fresh:
            raise InvalidOptionError(
                "append adds to a store and fresh removes what is in it: use one of --append and --fresh"
            )
        if not isinstance(n_fit, (int, np.integer)) or isinstance(n_fit, bool) or n_fit < 1:
            raise InvalidOptionError(f"n_fit is {quoted(n_fit)}: use a whole number of at least 1")
        self.dtype, self.dask, self.verbose = precision_of(dtype).name, dask, verbose
        self.fit, self.n_fit = fit, n_fit
        self.append, self.fresh, self.verify = append, fresh, verify
        self.memory = memory_of(memory)
        reading = Reading(dict(read_options or {}), label, self.memory // _READ_SHARE)
        self.inputs = Inputs(inputs, reading, tuple(tu), lengths, window, step)
        check_target(self.target, [*self.inputs.files, *paths_of(fit)], fresh=fresh)
        self.root = work_folder(self.target)
        if append and not self.root.exists():
            raise StoreError(
                f"{shortened(str(self.root), 400)} does not exist: make it first, without --append"
            )

    @contextmanager
    def writing(self, kind: str, options: Mapping[str, Any], transformer: Estimator) -> Iterator[Work | None]:
        """Yield the store to write to, None if the result is a plain file that is finished already."""
        learns = isinstance(transformer, MeasureFeatures)
        if self.fit is not None and not learns:
            raise InvalidOptionError(
                "fit (--fit) is for features of the canonical measure: matrices are not fitted, leave it out"
            )
        to_fit = fit_graphs(self.fit, self.inputs.reading, self.n_fit)
        manifest = {
            "kind": kind,
            "dtype": self.dtype,
            "options": {
                **options,
                "reading": self.inputs.description(),
                "fit": fit_description(to_fit, self.n_fit) if learns else None,
            },
        }
        with writing(self.root, manifest, fresh=self.fresh, verify=self.verify) as (store, lost):
            if is_finished(store, self.target, fresh=self.fresh, verify=self.verify):
                Rows(store, self.inputs, append=False).compare()
                yield None
                return
            with connected(self.dask, self.memory) as client:
                check_workers(client, store)
                rows = Rows(store, self.inputs, append=self.append, verbose=self.verbose)
                rows.note_lost_files(lost)
                yield Work(self, store, rows, fitted(rows, transformer, to_fit, self.n_fit), client)

    def result(self, kind: type[FeatureStore | KernelStore]) -> Any:
        """Return the finished store, or the path of the plain file."""
        return kind(self.root) if self.target.suffix == ".zarr" else self.target


def memory_of(memory: float | None) -> int:
    """Return the bytes that a run may use; by default half of what is free."""
    if memory is None:
        return max(_LEAST_MEMORY, (_memory.available_bytes() or _UNKNOWN) // 2)
    if not is_positive(memory) or memory < _LEAST_MEMORY:
        raise InvalidOptionError(f"memory is {quoted(memory)}: use at least {_memory.size(_LEAST_MEMORY)}")
    return int(memory)


class Rows:
    """The rows of a store: those already written, and those that inputs add.

    Parameters
    ----------
    store
        The store, which this process owns.
    inputs
        The graphs.
    append
        Whether the inputs are further graphs, after those in the store.
    verbose
        Whether to show progress.

    Attributes
    ----------
    notes
        Warnings of readers, each text once.
    n_computed
        Rows that were computed in this call.
    """

    def __init__(
        self, store: Store, inputs: Inputs, *, append: bool, verbose: bool | Progress = False
    ) -> None:
        self.store, self.inputs = store, inputs
        self.notes: dict[str, None] = {}
        self.units: dict[str, str] = {}
        self.lost: list[str] = []
        self.replaced: dict[int, dict[str, Any]] = {}  # parts that were dropped, by their first row
        self.n_computed = self.stop = 0
        self.line = _RowsLine() if verbose is True else None
        self.pieces = inputs.pieces(store.root / SPOOL)
        self.start, self.ends = self._range(append=append)

    def _range(self, *, append: bool) -> tuple[int, set[int] | None]:
        """Return the first row of the inputs, and where they may end; None if that is not known yet.

        Nothing is noted before rows are there (`_commit`): inputs that cannot be read change nothing.
        """
        journal, name = self.store.journal, self.store.root.name
        if not journal.segments:
            if append:
                raise StoreError(f"{name} has no graphs yet: make it first, without --append")
            return 0, None
        first, *appended = journal.segments
        if not append:
            ends = {segment.stop for segment in journal.segments if segment.stop is not None}
            return 0, ends or None
        if first.stop is None:
            raise StoreError(
                f"{name} is not complete: run the command that makes it again (from {first}), then append"
            )
        for segment in appended:
            if rows_path(segment.start) in self.store and self._begin_with(segment.start):
                return segment.start, None if segment.stop is None else {segment.stop}
        last = journal.segments[-1]
        if last.stop is None:
            if rows_path(last.start) in self.store:
                raise StoreError(
                    f"{name}: graphs of {last} were being appended; run that command again, with --append"
                )
            return last.start, None
        return last.stop, None

    def _begin_with(self, start: int) -> bool:
        """Return whether the inputs begin with the graphs of a part that is there."""
        known = self.store.read_json(rows_path(start))["digest"]
        first = list(islice(self.pieces, len(known)))
        self.pieces = chain(first, self.pieces)
        return bool([piece.digest for piece in first] == known)

    def note_lost_files(self, lost: list[str]) -> None:
        """Note which files are damaged and will be computed again."""
        self.lost = lost
        if lost:
            self.notes.setdefault(
                f"{len(lost):,} files of {self.store.root.name} are missing or damaged and are made again, "
                f"such as {lost[0]}"
            )

    def sample(self, n_graphs: int) -> list[Any]:
        """Return the first graphs of the inputs."""
        graphs, n_edges = [], 0
        taken: list[Piece] = []
        for piece in islice(self.pieces, n_graphs):
            taken.append(piece)
            graphs.append(read_piece(self.inputs.reading, piece).graph)
            n_edges += graphs[-1].n_edges
            if n_edges > _FIT_EDGES:
                break
        self.pieces = chain(taken, self.pieces)
        return graphs

    def tasks(self) -> Iterator[RowsTask]:
        """Yield the parts that are missing, and compare the others with the inputs."""
        for row, pieces in self._parts():
            if self._is_finished(row):
                self._discard(pieces)
            else:
                yield RowsTask(row, pieces)

    def compare(self) -> None:
        """Raise unless the inputs are those that all rows were made from."""
        for row, pieces in self._parts():
            if rows_path(row) not in self.store:
                raise StoreError(f"{self.store.root.name}: {rows_path(row)} is damaged; {_REMEDY}")
            self._discard(pieces)

    def _parts(self) -> Iterator[tuple[int, tuple[Piece, ...]]]:
        """Yield the first row and the pieces of each part, compared with what the store says of it."""
        row = self.start
        bounds = sorted(segment.start for segment in self.store.journal.segments)
        while True:
            end = min([row + ROWS - row % ROWS, *(bound for bound in bounds if bound > row)])
            pieces = tuple(islice(self.pieces, end - row))
            if not pieces:
                break
            self._check_part(row, pieces)
            yield row, pieces
            row += len(pieces)
        if not row - self.start:
            raise StoreError("the inputs have no graphs")
        if self.ends is not None and row not in self.ends:
            raise StoreError(
                f"{self.store.root.name} has {min(self.ends) - self.start:,} graphs of these inputs, which "
                f"now have {row - self.start:,}; {_REMEDY}"
            )
        self.stop = row

    def _check_part(self, row: int, pieces: tuple[Piece, ...]) -> None:
        """Raise unless the graphs of a finished part are those of the inputs."""
        name = self.store.root.name
        if self.ends is not None and row + len(pieces) > max(self.ends):
            raise StoreError(
                f"{name} has {max(self.ends) - self.start:,} graphs, and the inputs have more; to add "
                "graphs, give only the new ones, with --append (in Python: append=True)"
            )
        if rows_path(row) not in self.store and row not in self.replaced:
            return
        about = self.replaced.get(row) or self.store.read_json(rows_path(row))
        for position, (known, piece) in enumerate(zip(about["digest"], pieces, strict=False)):
            if known != piece.digest:
                raise StoreError(
                    f"{name} was made from other inputs: its row {row + position:,} is graph "
                    f"{quoted(about['id'][position])}, and {piece.where} is not the same, or was read from a "
                    f"file of another name; {_REMEDY}"
                )
        if len(about["digest"]) != len(pieces):
            raise StoreError(
                f"{name} was made from {row + len(about['digest']):,} graphs, and the inputs do not end "
                f"there; {_REMEDY}"
            )
        self.note_units(dict(about["units"]))

    def _is_finished(self, row: int) -> bool:
        if rows_path(row) not in self.store:
            return False
        return all(path in self.store for path in self.files_of(row))

    def files_of(self, row: int) -> list[str]:
        """Return the files with the numbers of the part that begins at a row."""
        about = self.store.read_json(rows_path(row))
        if not about["files"]:
            return [f"features/c/{row // ROWS}/0"]
        return [data_path(row, file_index) for file_index in range(len(about["files"]))]

    def compute(self, recipe: Recipe, client: Any) -> int | None:
        """Compute all parts that are missing.

        Returns the number of rows in the store, also of those that other inputs have added; None while such
        inputs are not finished.
        """
        self._check_rows(self.start)
        run(
            "rows",
            self.tasks(),
            partial(make_rows, recipe),
            self._commit,
            split=_frugal,
            client=client,
            store=self.store,
        )
        last = self.store.journal.segments[-1]
        if last.stop is None and self.start == last.start:
            self.store.journal.end(self.stop)
        if self.line is not None:
            self.line.end()
        if last.stop is not None:
            self._check_rows(last.stop)
        lost = [path for path in self.lost if path not in self.store]
        if last.stop is None and lost:
            raise StoreError(
                f"{self.store.root.name}: {len(lost):,} files are missing or damaged, such as {lost[0]}, and "
                f"graphs of {last} were being appended; run that command again, with --append"
            )
        for note in self.notes:
            warn(note, DataWarning)
        return last.stop

    def _check_rows(self, stop: int) -> None:
        """Raise if rows up to `stop` are damaged: only their own inputs can bring them back; note units."""
        row = 0
        while row < stop:
            if not self._is_finished(row):
                ends = [segment.stop for segment in self.store.journal.segments if segment.stop is not None]
                raise StoreError(
                    f"{self.store.root.name}: rows from {row:,} on are damaged, and these inputs do not have "
                    f"them; give the inputs of all {max(ends, default=stop):,} rows in their order, without "
                    "--append"
                )
            about = self.store.read_json(rows_path(row))
            self.note_units(dict(about["units"]))
            row += len(about["id"])

    def _commit(self, task: RowsTask, result: RowsResult) -> None:
        self.note_units(result.units)
        if all(segment.start != self.start for segment in self.store.journal.segments):
            self.store.journal.begin(self.start, self.inputs.names)
        self._drop_neighbours(task.start, result)
        self.store.commit(result.parts)
        self.n_computed += len(task.pieces)
        self._discard(task.pieces)
        for note in result.notes:
            if len(self.notes) < _NOTES:
                self.notes.setdefault(note)
        if self.line is not None:
            self.line.show(self.n_computed)

    def _drop_neighbours(self, start: int, result: RowsResult) -> None:
        """Drop later parts in a chunk of features that is made anew: it has only the rows up to this part."""
        chunk = f"features/c/{start // ROWS}/0"
        if chunk in self.store or all(part.path != chunk for part in result.parts):
            return
        end = start + ROWS - start % ROWS
        starts = {segment.start for segment in self.store.journal.segments}
        later = [row for row in starts if start < row < end and rows_path(row) in self.store]
        if later:
            self.replaced.update({row: self.store.read_json(rows_path(row)) for row in later})
            self.store.journal.redo(map(rows_path, later))

    def note_units(self, units: dict[str, str]) -> None:
        """Raise if graphs have lengths in several units; note if only some state theirs."""
        for unit, graph in units.items():
            self.units.setdefault(unit, graph)
        known = {metres(unit) or unit.strip().lower(): unit for unit in self.units if unit}
        if len(known) > 1:
            listing = ", ".join(f"{unit!r} (such as {self.units[unit]!r})" for unit in known.values())
            remedy = "convert them, such as by torelli.read(..., unit='m') or, on the command line, --unit m"
            if self.start:  # reading in another way than before is refused too
                remedy = "convert the new graphs first: in Python, append torelli.read(..., unit='m')"
            raise InvalidGraphError([Fault(f"lengths are in {len(known)} units: {listing}", remedy)])
        if known and "" in self.units:
            (unit,) = known.values()
            self.notes.setdefault(
                f"some graphs state no unit (such as {self.units['']!r}): their lengths are taken to be in "
                f"{unit!r}, as those of the others"
            )

    def _discard(self, pieces: tuple[Piece, ...]) -> None:
        for piece in pieces:
            if piece.kind == "spooled":
                shutil.rmtree(Path(piece.content).parent, ignore_errors=True)


class _RowsLine:
    """Shows the number of finished rows on standard error; a stream does not tell the total."""

    _EVERY = 0.5

    def __init__(self) -> None:
        self.last = time.monotonic()
        self.shown = 0

    def show(self, count: int) -> None:
        """Show the number a few times a second."""
        if time.monotonic() - self.last > self._EVERY:
            self.last, self.shown = time.monotonic(), count
            sys.stderr.write(f"\rrows: {count:,}")
            sys.stderr.flush()

    def end(self) -> None:
        """End the line."""
        if self.shown:
            sys.stderr.write("\n")


def _frugal(task: RowsTask, work: Any) -> list[tuple[RowsTask, Any]]:
    """Return the same task, done one graph at a time; nothing if it was done so already."""
    (recipe,) = work.args
    return [] if recipe.one_by_one else [(task, partial(make_rows, recipe.frugal()))]


def fit_graphs(fit: Any, reading: Reading, n_graphs: int) -> list[MetricGraph] | None:
    """Return the graphs that features are fitted to, None if they are the first of the inputs."""
    if fit is None:
        return None
    with TemporaryDirectory() as spool:
        pieces = islice(Inputs(fit, reading).pieces(Path(spool)), n_graphs)
        return [read_piece(reading, piece).graph for piece in pieces]


def fit_description(graphs: list[MetricGraph] | None, n_graphs: int) -> str:
    """Return what a manifest says of the graphs that features are fitted to."""
    if graphs is None:
        return f"the first {n_graphs:,} graphs"
    return f"{len(graphs):,} graphs, {digest_of(*(graph.digest for graph in graphs))}"


def fitted(rows: Rows, transformer: Estimator, graphs: list[MetricGraph] | None, n_fit: int) -> Estimator:
    """Return a transformer fitted as in the store; if the store is new, to graphs or to its first ones."""
    store = rows.store
    if isinstance(transformer, MeasureFeatures):
        for position, graph in enumerate(graphs or ()):
            if graph.n_edges:
                rows.note_units({graph.unit or "": graph.name or f"graph {position} to fit to"})
        has_rows = any(path.startswith(rows_path(0).rpartition("/")[0]) for path in store.journal.files)
        if FIT not in store or not (has_rows or rows.start):  # what inputs without rows have left is not used
            if rows.start:
                raise StoreError(f"{store.root.name}: {FIT} is damaged; {_REMEDY}")
            graphs = rows.sample(n_fit) if graphs is None else graphs
            transformer.fit(graphs)
            learned = {name: getattr(transformer, f"{name}_").tolist() for name in ("location", "spread")}
            store.put_json(FIT, {"n_graphs": len(graphs), **learned})
        learned = store.read_json(FIT)
        transformer.location_ = np.array(learned["location"])
        transformer.spread_ = np.array(learned["spread"])
        transformer.unit_ = None  # rows of all inputs are checked by `note_units`
    elif not getattr(transformer, "__sklearn_is_fitted__", bool)():
        transformer.fit(rows.sample(n_fit))
    return transformer


def parts_of(store: Store) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the first row of each part of a complete store, and what its file says."""
    row, stop = 0, store.journal.segments[-1].stop or 0
    while row < stop:
        about = store.read_json(rows_path(row))
        yield row, about
        row += len(about["id"])


def put_names(store: Store) -> None:
    """Write names and labels of all rows as arrays of text."""
    ids: list[str] = []
    labels: list[str | None] = []
    for _, about in parts_of(store):
        ids += about["id"]
        labels += about["label"]
    columns = {"id": ids}
    if any(label is not None for label in labels):
        columns["label"] = [label or "" for label in labels]
    for name, values in columns.items():
        for path, content in _zarr.strings(values).items():
            store.put(f"{name}/{path}", content)


def require_disk(store: Store, n_bytes: int) -> None:
    """Raise if the disk has no room for what is still to be written: before hours of computing, not after."""
    with explain_disk_errors(store.root):
        free = shutil.disk_usage(store.root).free
    if n_bytes > free:
        raise StoreError(
            f"{store.root}: {_memory.size(n_bytes)} are still to be written, and the disk has "
            f"{_memory.size(free)}; make room, choose another disk, or --dtype float32"
        )
