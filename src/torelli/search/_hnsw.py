"""Approximate search: candidates by sketches from hnswlib's graph of near neighbours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from joblib import effective_n_jobs

from torelli._errors import FormatError, MissingExtraError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from torelli._types import Floats, Ints

M = 16
EF_CONSTRUCTION = 200
_HEADER = np.dtype(
    [
        ("offset_level0", "<u8"),
        ("max_elements", "<u8"),
        ("count", "<u8"),
        ("bytes_per_element", "<u8"),
        ("label_offset", "<u8"),
        ("data_offset", "<u8"),
        ("max_level", "<i4"),
        ("entry", "<u4"),
        ("max_m", "<u8"),
        ("max_m0", "<u8"),
        ("m", "<u8"),
        ("mult", "<f8"),
        ("ef_construction", "<u8"),
    ]
)
_MOST_LEVELS = 64


class NeighbourGraph:
    """hnswlib's graph of the sketches of a collection.

    Parameters
    ----------
    graph
        An index of hnswlib.
    """

    def __init__(self, graph: Any) -> None:
        self.graph = graph

    @classmethod
    def of(cls, rows: NDArray[Any], seed: int, n_jobs: int | None) -> NeighbourGraph:
        """Return the graph of rows; with more than one thread it depends on their timing."""
        graph = _hnswlib().Index(space="l2", dim=max(rows.shape[1], 1))
        graph.init_index(max_elements=len(rows), M=M, ef_construction=EF_CONSTRUCTION, random_seed=seed)
        graph.add_items(_single(rows), np.arange(len(rows)), num_threads=effective_n_jobs(n_jobs))
        return cls(graph)

    def candidates(self, sketch: Floats, count: int) -> Ints:
        """Return about `count` of the rows nearest to a sketch."""
        count = min(count, int(self.graph.get_current_count()))
        self.graph.set_ef(count)
        labels, _ = self.graph.knn_query(_single(sketch)[:, : self.graph.dim], k=count, num_threads=1)
        return np.unique(labels[0].astype(np.int64))

    def save(self, path: Path) -> None:
        """Write the graph to a file."""
        self.graph.save_index(str(path))

    @classmethod
    def load(cls, path: Path, n_rows: int, width: int) -> NeighbourGraph:
        """Return the graph of a file, which is checked first: hnswlib trusts what it reads."""
        width = max(width, 1)
        check_file(path, n_rows, width)
        graph = _hnswlib().Index(space="l2", dim=width)
        try:
            graph.load_index(str(path), max_elements=n_rows)
        except RuntimeError as error:
            raise FormatError(f"{path.name}: {error}; make the index again") from error
        return cls(graph)


def check_file(path: Path, n_rows: int, width: int) -> None:
    """Raise unless a file has hnswlib's layout and every link in it leads to one of the rows."""

    def require(ok: object, what: str) -> None:
        if not ok:
            raise FormatError(f"{path.name}: {what}; make the index again")

    content = np.fromfile(path, dtype=np.uint8)
    require(len(content) >= _HEADER.itemsize, "too short for a graph of neighbours")
    head = content[: _HEADER.itemsize].view(_HEADER)[0]
    links = 4 + 4 * 2 * M
    expected = {
        "offset_level0": 0,
        "count": n_rows,
        "max_elements": n_rows,
        "data_offset": links,
        "label_offset": links + 4 * width,
        "bytes_per_element": links + 4 * width + 8,
        "max_m": M,
        "max_m0": 2 * M,
        "m": M,
    }
    for name, value in expected.items():
        require(int(head[name]) == value, f"{name} is {int(head[name])}, not {value}")
    require(0 <= int(head["max_level"]) < _MOST_LEVELS, "an impossible number of levels")
    require(int(head["entry"]) < n_rows, "the entry is none of the rows")
    start, each = _HEADER.itemsize, expected["bytes_per_element"]
    require(len(content) >= start + n_rows * each, "it ends too early")
    level0 = content[start : start + n_rows * each].reshape(n_rows, each)
    _check_links(level0[:, :links], 2 * M, n_rows, require)
    labels = level0[:, -8:].copy().view("<u8")[:, 0]
    require(bool((np.sort(labels) == np.arange(n_rows)).all()), "labels are not those of the rows")
    offset, top, size = start + n_rows * each, 0, 4 + 4 * M
    upper, levels = [], np.zeros(n_rows, dtype=np.int64)
    for row in range(n_rows):
        require(offset + 4 <= len(content), "it ends too early")
        n_bytes = int(content[offset : offset + 4].view("<u4")[0])
        offset += 4
        require(n_bytes % size == 0 and offset + n_bytes <= len(content), "links of a row are cut off")
        if n_bytes:
            levels[row] = n_bytes // size
            upper.append(content[offset : offset + n_bytes].reshape(-1, size))
            top = max(top, int(levels[row]))
        offset += n_bytes
    require(offset == len(content), "there is something after the last row")
    require(int(levels[int(head["entry"])]) >= int(head["max_level"]) == top, "levels do not fit each other")
    if upper:
        _check_links(np.concatenate(upper), M, n_rows, require)
        _check_levels(upper, levels, require)


def _check_links(lists: NDArray[np.uint8], most: int, n_rows: int, require: Any) -> None:
    """Check lists of links: their number in two bytes, two bytes of flags, then the rows they lead to."""
    words = np.ascontiguousarray(lists).view("<u4")
    counts = (words[:, 0] & 0xFFFF).astype(np.int64)
    require(bool((words[:, 0] >> 16 == 0).all()), "rows are marked as deleted")
    require(bool((counts <= most).all()), "a row has too many links")
    used = np.arange(most) < counts[:, None]
    require(bool((words[:, 1:][used] < n_rows).all()), "a link leads out of the rows")


def _check_levels(upper: list[NDArray[np.uint8]], levels: Ints, require: Any) -> None:
    """Check that links of a level lead to rows that reach it: hnswlib follows them without looking."""
    for level in range(1, int(levels.max()) + 1):
        lists = np.concatenate([one[level - 1 : level] for one in upper if len(one) >= level])
        words = np.ascontiguousarray(lists).view("<u4")
        used = np.arange(words.shape[1] - 1) < (words[:, :1] & 0xFFFF)
        targets = words[:, 1:][used].astype(np.int64)
        require(bool((levels[targets] >= level).all()), "a link leads to a row below its level")


def _single(rows: NDArray[Any]) -> NDArray[np.float32]:
    """Return rows in single precision, with a column of zeros if they have none."""
    if not rows.shape[1]:
        return np.zeros((len(rows), 1), np.float32)
    return np.ascontiguousarray(rows, dtype=np.float32)


def _hnswlib() -> Any:
    try:
        import hnswlib
    except ImportError as error:
        raise MissingExtraError("method='hnsw' needs hnswlib: pip install 'torelli[search]'") from error
    return hnswlib
