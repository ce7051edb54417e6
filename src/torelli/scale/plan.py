"""What a store of features or a kernel matrix will take: seconds, bytes, and how the work is cut."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli import _memory
from torelli._errors import DataNotFoundError, unknown_option
from torelli._registry import get_kernel
from torelli.model import canonical_model
from torelli.scale._pairs import block_bytes, is_square, side_of
from torelli.scale._pieces import Inputs, Reading
from torelli.scale._rows import ROWS, read_piece
from torelli.scale.costs import pair_step, seconds
from torelli.scale.features import FEATURES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from torelli._types import Floats, Ints
    from torelli.graph import MetricGraph
    from torelli.scale._pieces import Piece

SAMPLE = 400
"""Graphs that are read to estimate the sizes of all."""

_PROCESS_BYTES = 4 * 10**8  # of a process with this package and its compiled code
_TASKS, _TASK_SECONDS = 200, 20.0
_EDGE_BYTES = 60  # of a line of JSON lines
_ROW_BYTES = 150  # of the name, label and digest of a row
_DURATIONS = ((90, 1, "s"), (5400, 60, "min"), (172_800, 3600, "hours"), (6e7, 86_400, "days"))
_WORKERS = (1, 2, 8, 64, 512)
_ALIKE = 5000  # sizes that the side of tiles is chosen by


@dataclass(frozen=True)
class Plan:
    """What a run will take.

    Attributes
    ----------
    what
        The kernel or the features.
    n_graphs, n_sampled
        Number of graphs in the inputs, and how many of them were read for the estimate.
    sizes
        Smallest, median, 95th percentile and largest size of the sample: the number of rows of the matrix, or
        the number of edges for features of the measure.
    seconds
        Expected processor time of each step, on one core of the machine of the calibration.
    result_bytes, work_bytes
        Bytes of the result, and of what is kept beside it.
    side, n_tiles, tile_seconds
        Graphs on each side of a tile, number of tiles (of rows for features), and the time for the mean one.
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
        return max(self.tile_seconds, min(_TASK_SECONDS, self.total / _TASKS))

    def as_dict(self) -> dict[str, Any]:
        """Return all figures."""
        workers = {str(n): self.on_workers(n) for n in _WORKERS}
        return {**asdict(self), "total_seconds": self.total, "seconds_by_workers": workers}

    def __str__(self) -> str:
        """Return the plan for a person."""
        low, median, high, largest = self.sizes
        each = duration(self.tile_seconds)
        sized = "edges" if "measure" in self.what else "size of the matrix"
        lines = [
            f"{self.what} of {self.n_graphs:,} graphs",
            f"({self.n_sampled:,} read: {sized} {low:,} to {largest:,}, median {median:,}, 95 % {high:,})",
            "",
            *(f"  {step:<28}{duration(value):>12}" for step, value in self.seconds.items()),
            f"  {'all, on one core':<28}{duration(self.total):>12}",
            *(
                f"  {f'on {n} workers':<28}{duration(self.on_workers(n)):>12}"
                for n in _WORKERS[1:]
                if self.on_workers(n) < 0.9 * self.on_workers(_WORKERS[_WORKERS.index(n) - 1])
            ),
            f"  {'result on disk':<28}{_memory.size(self.result_bytes):>12}",
            f"  {'kept beside it':<28}{_memory.size(self.work_bytes):>12}",
            f"  {'memory of each process':<28}{_memory.size(self.process_bytes):>12}",
            "",
            f"Cut into {self.n_tiles:,} tiles of {self.side} graphs{self._shape}; one takes {each}",
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
            return f"{figure:.2g} {name}" if figure < 10 else f"{figure:,.0f} {name}"  # noqa: PLR2004  (digits)
    return f"{value / 31_557_600:,.0f} years"


def plan_features(
    inputs: Any,
    features: str = "measure",
    *,
    dtype: str = "float64",
    n_columns: int = 640,
    **options: Any,
) -> Plan:
    """Return what `write_features` will take.

    Parameters
    ----------
    inputs, options
        As for `plan_kernel`.
    features, dtype
        As for `write_features`.
    n_columns
        Number of columns of measure features.
    """
    if features not in FEATURES:
        raise unknown_option("features", features, FEATURES)
    n_graphs, n_bytes, graphs = _sample(inputs, options)
    edges = np.array([graph.n_edges for graph in graphs])
    steps = {"reading": _reading(n_bytes)}
    if features == "measure":
        sizes = edges
        # the table is of 640 columns
        each = float(seconds(f"features {dtype}", edges).mean()) * n_columns / 640
        steps["features"] = n_graphs * each
        work = 0.0
    else:
        sizes = _sizes(graphs, {})
        n_columns = int(sizes.max(initial=1))
        steps["matrices"] = n_graphs * float(seconds("matrix", sizes).mean())
        steps["spectra"] = n_graphs * float(seconds("spectrum", sizes).mean())
        work = 8 * n_graphs * float(sizes.mean())
    result = np.dtype(dtype).itemsize * n_graphs * n_columns
    steps["writing"] = _writing(result + work)
    tiles = -(-n_graphs // ROWS)
    return Plan(
        what=f"features ({features}, {dtype})",
        n_graphs=n_graphs,
        n_sampled=len(graphs),
        sizes=_quantiles(sizes),
        seconds=steps,
        result_bytes=int(result),
        work_bytes=int(work) + _ROW_BYTES * n_graphs,
        side=ROWS,
        n_tiles=tiles,
        tile_seconds=sum(steps.values()) / tiles,
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
        Paths or graphs, as for `write_kernel`. All are counted, and some are read.
    kernel, dtype
        As for `write_kernel`.
    representation
        Options of the kernel's representation.
    options
        ``read_options``, ``tu``, ``lengths``, ``window`` and ``step``, as for `write_kernel`.
    """
    entry = get_kernel(kernel).entry
    n_graphs, n_bytes, graphs = _sample(inputs, options)
    steps = {"reading": _reading(n_bytes)}
    square = is_square(kernel)
    if kernel == "ttm" or not hasattr(entry.distance, "write_pairs"):
        edges = np.array([graph.n_edges for graph in graphs])
        steps["features"] = n_graphs * float(seconds("features float64", edges).mean())
        sizes: Ints = np.full(len(graphs), 640)
        shown = edges
    else:
        sizes = shown = _sizes(graphs, representation or {})
        steps["matrices"] = n_graphs * float(seconds("matrix", sizes).mean())
        if not square:
            steps["spectra"] = n_graphs * float(seconds("spectrum", sizes).mean())
    pair = _mean_pair(kernel, sizes)
    n_pairs = n_graphs * (n_graphs + 1) // 2
    steps[f"{n_pairs:,} pairs"] = n_pairs * pair
    alike = np.resize(sizes, min(n_graphs, _ALIKE))
    side = side_of(kernel, alike)
    blocks = -(-n_graphs // side)
    result = np.dtype(dtype).itemsize * (blocks * side) ** 2
    work = 8 * n_graphs * float(((sizes.astype(float) ** 2) if square else sizes).mean())
    steps["writing"] = _writing(result + work)
    return Plan(
        what=f"kernel {kernel} ({dtype})",
        n_graphs=n_graphs,
        n_sampled=len(graphs),
        sizes=_quantiles(shown),
        seconds=steps,
        result_bytes=int(result),
        work_bytes=int(work) + _ROW_BYTES * n_graphs,
        side=side,
        n_tiles=blocks * (blocks + 1) // 2,
        tile_seconds=pair * min(side, n_graphs) ** 2,
        process_bytes=_PROCESS_BYTES + 4 * block_bytes(alike, side, square=square),
    )


def _sample(inputs: Any, options: Mapping[str, Any]) -> tuple[int, int, list[MetricGraph]]:
    """Count graphs and bytes, and return some of the graphs, chosen at random by a fixed seed."""
    reading = Reading(dict(options.get("read_options") or {}))
    given = Inputs(
        inputs, reading, **{name: value for name, value in options.items() if name != "read_options"}
    )
    rng = np.random.default_rng(0)
    kept: list[Piece] = []
    count = n_bytes = 0
    with TemporaryDirectory() as spool:
        for piece in given.pieces(Path(spool)):
            count += 1
            n_bytes += _bytes_of(piece)
            if len(kept) < SAMPLE:
                kept.append(piece)
            elif (place := int(rng.integers(count))) < SAMPLE:
                kept[place] = piece
        if not count:
            raise DataNotFoundError("the inputs have no graphs")
        return count, n_bytes, [read_piece(reading, piece).graph for piece in kept]


def _bytes_of(piece: Piece) -> int:
    if piece.kind == "line":
        return len(piece.content)
    if piece.kind == "record":
        return _EDGE_BYTES * int(piece.content.graph.n_edges)
    return Path(piece.content).stat().st_size


def _reading(n_bytes: int) -> float:
    return n_bytes * float(seconds("byte of JSON lines", 1))


def _writing(n_bytes: float) -> float:
    return n_bytes * float(seconds("byte on disk", 1))


def _sizes(graphs: list[MetricGraph], representation: Mapping[str, Any]) -> Ints:
    """Return the sizes of the matrices of graphs."""
    sizes = np.array([graph.genus for graph in graphs], dtype=np.int64)
    if representation.get("bridges") == "double":
        sizes += np.array([len(canonical_model(graph).bridge_chains) for graph in graphs], dtype=np.int64)
    most = representation.get("max_genus")
    return sizes if most is None else np.minimum(sizes, most)


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
