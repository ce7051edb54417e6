"""The cost of features or a kernel matrix before it is computed: seconds, bytes, and tiles."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli import _memory
from torelli._errors import DataNotFoundError, InvalidOptionError, quoted, unknown_option
from torelli._registry import get_kernel
from torelli.distances import Metric
from torelli.features import MeasureFeatures
from torelli.model import canonical_model
from torelli.scale._inputs import Inputs, Reading
from torelli.scale._job import N_FIT
from torelli.scale._rows import ROWS, read_piece
from torelli.scale.costs import calibration, largest_measured, pair_step, seconds
from torelli.scale.features import FEATURES, transformer_of
from torelli.scale.kernel import LEAST_TASKS, TASK_SECONDS, block_bytes, is_square, n_graphs_of_gamma, side_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Self

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph
    from torelli.scale._inputs import Piece

LARGEST = {"n_graphs": 10**15, "genus": 10**8}
"""Largest numbers of a plan for graphs that are not there yet."""

SAMPLE = 400
"""Graphs that are read to estimate the sizes of all."""

EDGES_PER_CYCLE = 2.4
"""Edges for each independent cycle of a street grid, for plans without graphs."""

_PROCESS_BYTES = 4 * 10**8  # of a process with this package and its compiled code
_EDGE_BYTES = 60  # of a line of JSON lines
_ROW_BYTES = 150  # of the name, label and digest of a row
_DURATIONS = ((90, 1, "s"), (5400, 60, "min"), (172_800, 3600, "hours"), (6e7, 86_400, "days"))
_ONE_DIGIT = 10
_WORKERS = (1, 2, 8, 64, 512)
_FASTER = 0.9  # of the time on fewer workers, if more are worth a line
_ALIKE = 5000  # sizes that the side of tiles is chosen by
_MOST_COLUMNS = 10**13  # products with the graphs of a tile are whole numbers of 64 bits
_MANY_YEARS = 1e9


@dataclass(frozen=True)
class Sample:
    """The graphs of a plan: how many there are, and the sizes of some.

    Attributes
    ----------
    n_graphs, n_bytes
        Number of graphs, and bytes of the inputs.
    edges, genus, chains
        For each graph of the sample, the number of edges, the genus, and the number of chains of bridges.
    is_read
        Whether the sizes are those of graphs that were read.
    """

    n_graphs: int
    n_bytes: int
    edges: Ints
    genus: Ints
    chains: Ints
    is_read: bool = True

    @classmethod
    def alike(cls, n_graphs: int, genus: int) -> Self:
        """Return a sample for graphs that are not there yet: all of one genus, as dense as a street grid."""
        for name, value in (("n_graphs", n_graphs), ("genus", genus)):
            if not 1 <= value <= LARGEST[name]:
                raise InvalidOptionError(
                    f"{name} is {quoted(value)}: use a whole number from 1 to {LARGEST[name]:,}"
                )
        edges = round(EDGES_PER_CYCLE * genus)
        one = np.ones(1, dtype=np.int64)
        return cls(n_graphs, n_graphs * edges * _EDGE_BYTES, edges * one, genus * one, 0 * one, is_read=False)

    @classmethod
    def of(cls, inputs: Any, options: Mapping[str, Any]) -> Self:
        """Count graphs and bytes, and read some of the graphs, chosen at random by a fixed seed."""
        reading = Reading(dict(options.get("read_options") or {}))
        graph_inputs = Inputs(
            inputs, reading, **{name: value for name, value in options.items() if name != "read_options"}
        )
        rng = np.random.default_rng(0)
        kept: list[Piece] = []
        count = n_bytes = 0
        with TemporaryDirectory() as spool:
            for piece in graph_inputs.pieces(Path(spool)):
                count += 1
                n_bytes += _bytes_of(piece)
                if len(kept) < SAMPLE:
                    kept.append(piece)
                elif (place := int(rng.integers(count))) < SAMPLE:
                    kept[place] = piece
            if not count:
                raise DataNotFoundError("the inputs have no graphs")
            graphs = [read_piece(reading, piece).graph for piece in kept]
        return cls(
            count,
            n_bytes,
            np.array([graph.n_edges for graph in graphs], dtype=np.int64),
            np.array([graph.genus for graph in graphs], dtype=np.int64),
            np.array([_chains(graph) for graph in graphs], dtype=np.int64),
        )

    def sizes(self, representation: Mapping[str, Any]) -> Ints:
        """Return the sizes of the matrices of the sample."""
        sizes = self.genus + self.chains if representation.get("bridges") == "double" else self.genus
        most = representation.get("max_genus")
        if most is not None and (not isinstance(most, int) or isinstance(most, bool) or most < 0):
            raise InvalidOptionError(f"max_genus is {quoted(most)}: use None or an integer of 0 or more")
        return sizes if most is None else np.minimum(sizes, most)


@dataclass(frozen=True)
class Plan:
    """What a run will take.

    Attributes
    ----------
    what
        The kernel or the features.
    n_graphs, n_sampled
        Number of graphs in the inputs, and how many of them were read for the estimate.
    extrapolated
        What lies beyond the sizes that the cost model was measured for.
    sizes
        Smallest, median, 95th percentile and largest size of the sample: the number of rows of the matrix, or
        the number of edges for features of the measure.
    seconds
        Expected processor time of each step, on one core of the machine of the calibration.
    result_bytes, work_bytes
        Bytes of the result, and of what is kept beside it.
    side, n_tiles, tile_seconds
        Graphs on each side of a tile, number of tiles (of rows for features), and the mean time for one.
    process_bytes
        Memory for each process.
    """

    what: str
    n_graphs: int
    n_sampled: int
    sizes: tuple[int, int, int, int]
    seconds: dict[str, float]
    result_bytes: int
    work_bytes: int
    side: int
    n_tiles: int
    tile_seconds: float
    process_bytes: int
    extrapolated: tuple[str, ...] = field(default=())

    @property
    def total(self) -> float:
        """Seconds of all steps on one core."""
        return sum(self.seconds.values())

    def on_workers(self, n_workers: int) -> float:
        """Return the seconds on some workers: no faster than the largest task, and the rest evenly shared."""
        return max(self.total / n_workers, min(self.total, self.task_seconds))

    @property
    def task_seconds(self) -> float:
        """Seconds of a task: some tiles, or a costly one."""
        return max(self.tile_seconds, min(TASK_SECONDS, self.total / LEAST_TASKS))

    def as_dict(self) -> dict[str, Any]:
        """Return all figures."""
        workers = {str(n): self.on_workers(n) for n in _WORKERS}
        return {**asdict(self), "total_seconds": self.total, "seconds_by_workers": workers}

    def __str__(self) -> str:
        """Return the plan for a person."""
        low, median, high, largest = self.sizes
        each = duration(self.tile_seconds)
        tiles = "tile" if self.n_tiles == 1 else "tiles"
        sized = "edges" if "measure" in self.what else "size of the matrix"
        spread = f"{sized} {low:,} to {largest:,}, median {median:,}, 95 % {high:,}"
        figures = {step: duration(value) for step, value in self.seconds.items()}
        figures["all, on one core"] = duration(self.total)
        for fewer, n in pairwise(_WORKERS):
            if self.on_workers(n) < _FASTER * self.on_workers(fewer):
                figures[f"on {n} workers"] = duration(self.on_workers(n))
        figures["result on disk"] = _memory.size(self.result_bytes)
        figures["kept beside it"] = _memory.size(self.work_bytes)
        figures["memory of each process"] = _memory.size(self.process_bytes)
        left = max(28, *(len(name) + 2 for name in figures))
        right = max(12, *map(len, figures.values()))
        lines = [
            f"{self.what} of {self.n_graphs:,} graphs",
            f"({self.n_sampled:,} read: {spread})" if self.n_sampled else f"(none read: {sized} {median:,})",
            "",
            *(f"  {name:<{left}}{figure:>{right}}" for name, figure in figures.items()),
            "",
            f"Cut into {self.n_tiles:,} {tiles} of {self.side} graphs{self._shape}; one takes {each}",
            *(f"Extrapolated: {what}" for what in self.extrapolated),
        ]
        return "\n".join(lines)

    @property
    def _shape(self) -> str:
        return "" if self.what.startswith("features") else f" by {self.side}"


def duration(value: float) -> str:
    """Return seconds in the unit that a person would use."""
    for limit, unit, name in _DURATIONS:
        if value < limit:
            figure = value / unit
            return f"{figure:.2g} {name}" if figure < _ONE_DIGIT else f"{figure:,.0f} {name}"
    years = value / 31_557_600
    return f"{years:,.0f} years" if years < _MANY_YEARS else f"{years:.3g} years"


def plan_features(
    inputs: Any,
    features: str = "measure",
    *,
    dtype: str = "float64",
    representation: Mapping[str, Any] | None = None,
    **options: Any,
) -> Plan:
    """Return what `write_features` will take.

    Parameters
    ----------
    inputs, options
        As for `plan_kernel`.
    features, dtype
        As for `write_features`.
    representation
        Options of `MeasureFeatures`, or of `torelli_matrices` for ``"tts"``.
    """
    if features not in FEATURES:
        raise unknown_option("features", features, FEATURES)
    sample = inputs if isinstance(inputs, Sample) else Sample.of(inputs, options)
    transformer = transformer_of(features, representation or {}, dtype)
    steps = _Steps(sample)
    if features == "measure":
        shown = sample.edges
        n_columns = steps.add_features(transformer, dtype)
        work = 0.0
    else:
        shown = sample.sizes(representation or {})
        n_columns = int(shown.max(initial=1))
        steps.add_matrices(shown, spectra=True)
        work = 8 * sample.n_graphs * float(shown.mean())
    result = np.dtype(dtype).itemsize * sample.n_graphs * n_columns
    steps.add_writing(result + work)
    tiles = -(-sample.n_graphs // ROWS)
    return steps.plan(
        what=f"features ({features}, {dtype})",
        sizes=_quantiles(shown),
        result_bytes=int(result),
        work_bytes=int(work) + _ROW_BYTES * sample.n_graphs,
        side=ROWS,
        n_tiles=tiles,
        tile_seconds=sum(steps.seconds.values()) / tiles,
        process_bytes=_PROCESS_BYTES + 3 * 8 * ROWS * n_columns,
    )


def plan_kernel(
    inputs: Any,
    kernel: str = "ttw",
    *,
    dtype: str = "float64",
    representation: Mapping[str, Any] | None = None,
    **options: Any,
) -> Plan:
    """Return what `write_kernel` will take.

    Parameters
    ----------
    inputs
        Paths or graphs, as for `write_kernel`: all are counted, and some are read. Or a `Sample`.
    kernel, dtype
        As for `write_kernel`.
    representation
        Options of the kernel's representation.
    options
        ``read_options``, ``tu``, ``lengths``, ``window`` and ``step``, as for `write_kernel`.
    """
    entry = get_kernel(kernel).entry
    sample = inputs if isinstance(inputs, Sample) else Sample.of(inputs, options)
    n_graphs, square = sample.n_graphs, is_square(kernel)
    settings = entry.options(dict(representation or {}))
    steps = _Steps(sample)
    if isinstance(entry.distance, Metric):
        sizes = shown = sample.sizes(settings)
        steps.add_matrices(sizes, spectra=not square)
    else:
        transformer = entry.representation(**settings)
        width = steps.add_features(transformer, "float64") if isinstance(transformer, MeasureFeatures) else 1
        sizes, shown = np.full(len(sample.edges), width), sample.edges
    pair = steps.add_pairs(kernel, sizes)
    alike = np.resize(sizes, min(n_graphs, _ALIKE))
    side = side_of(kernel, alike)
    blocks = -(-n_graphs // side)
    result = np.dtype(dtype).itemsize * (blocks * side) ** 2
    work = 8 * n_graphs * float(((sizes.astype(float) ** 2) if square else sizes).mean())
    steps.add_writing(result + work)
    return steps.plan(
        what=f"kernel {kernel} ({dtype})",
        sizes=_quantiles(shown),
        result_bytes=int(result),
        work_bytes=int(work) + _ROW_BYTES * n_graphs,
        side=side,
        n_tiles=blocks * (blocks + 1) // 2,
        tile_seconds=pair * min(side, n_graphs) ** 2,
        process_bytes=_PROCESS_BYTES + 4 * block_bytes(alike, side, square=square),
    )


class _Steps:
    """The steps of a run and their seconds, and which of them were not measured for such sizes."""

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.extrapolated: list[str] = []
        self.seconds = {"reading": sample.n_bytes * float(seconds("byte of JSON lines", 1))}

    def add_features(self, transformer: MeasureFeatures, dtype: str) -> int:
        """Add the features of all graphs; return the number of columns."""
        step, edges = f"features {transformer.along} {dtype}", self.sample.edges
        n_columns = transformer.n_columns
        if n_columns > _MOST_COLUMNS:
            raise InvalidOptionError(
                f"{quoted(n_columns)} columns are more than a plan takes: use a smaller n_features or depth"
            )
        # graphs to learn from are read once more
        learned = min(1.0, N_FIT / max(self.sample.n_graphs, 1))
        self.seconds["reading"] *= 1.0 + learned
        part = n_columns / calibration()["columns"][transformer.along]
        self._note(step, edges, "edges")
        self.seconds["features"] = self.sample.n_graphs * float(seconds(step, edges).mean()) * part
        return n_columns

    def add_matrices(self, sizes: Ints, *, spectra: bool) -> None:
        """Add the matrices of all graphs, and their eigenvalues."""
        for name, step in (("matrices", "matrix"), ("spectra", "spectrum"))[: 1 + spectra]:
            self._note(step, sizes, "rows of a matrix")
            self.seconds[name] = self.sample.n_graphs * float(seconds(step, sizes).mean())

    def add_pairs(self, kernel: str, sizes: Ints) -> float:
        """Add the distances of all pairs; return the seconds of a pair."""
        step, n_graphs = pair_step(kernel), self.sample.n_graphs
        n_pairs = n_graphs * (n_graphs + 1) // 2
        self._note(step, sizes, "columns" if step == "pair of vectors" else "rows of a matrix")
        pair = _mean_pair(kernel, sizes)
        self.seconds[f"{n_pairs:,} pairs"] = n_pairs * pair
        n_chosen = n_graphs_of_gamma(kernel, sizes, n_graphs)
        self.seconds["gamma as a median"] = n_chosen * (n_chosen - 1) // 2 * pair
        return pair

    def add_writing(self, n_bytes: float) -> None:
        """Add the bytes that are written."""
        self.seconds["writing"] = n_bytes * float(seconds("byte on disk", 1))

    def _note(self, step: str, sizes: Ints, unit: str) -> None:
        largest, known = int(sizes.max(initial=0)), largest_measured(step)
        if largest > known:
            self.extrapolated.append(f"{step}: {largest:,} {unit}, measured up to {known:,}")

    def plan(self, **figures: Any) -> Plan:
        """Return the plan."""
        return Plan(
            n_graphs=self.sample.n_graphs,
            n_sampled=len(self.sample.edges) if self.sample.is_read else 0,
            seconds=self.seconds,
            extrapolated=tuple(self.extrapolated),
            **figures,
        )


def _bytes_of(piece: Piece) -> int:
    if piece.kind == "line":
        return len(piece.content)
    if piece.kind == "record":
        return _EDGE_BYTES * int(piece.content.graph.n_edges)
    return Path(piece.content).stat().st_size


def _chains(graph: MetricGraph) -> int:
    return len(canonical_model(graph).bridge_chains)


def _mean_pair(kernel: str, sizes: Ints) -> float:
    """Return the mean seconds of a pair: what its smaller matrix says, or the width of vectors."""
    step = pair_step(kernel)
    if step == "pair of vectors":
        return float(seconds(step, sizes.max(initial=1)))
    each: Floats = np.sort(seconds(step, sizes))
    n = len(each)
    # of n² ordered pairs, the i-th smallest is the smaller one in 2 (n - i) - 1
    return float((each * (2 * (n - np.arange(n)) - 1)).sum() / n**2)


def _quantiles(sizes: Ints) -> tuple[int, int, int, int]:
    low, median, high, largest = np.percentile(sizes, [0, 50, 95, 100]).astype(int).tolist()
    return low, median, high, largest
