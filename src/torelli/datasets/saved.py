"""Built data sets as files: JSON lines with a window and all that is known of it on each."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from torelli._errors import FormatError, InvalidOptionError
from torelli._files import write_whole
from torelli._numerics.threads import ProgressLine
from torelli.io.files import Budget, json_bytes, lines, parse_json

if TYPE_CHECKING:
    import os

    from torelli.graph import MetricGraph

_ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")
_PARAMETERS = ("name", "source", "R", "r", "cut", "seed")
_NEEDED = ("label", "city", "group", "centre", "set")
_PLAIN = (str, int, float, bool, type(None))


def save_urn(data: Bunch, path: str | os.PathLike[str]) -> Path:
    """Write a set of `build_urn` or `load_urn` as JSON lines, which `torelli.read` and `read_urn` read.

    Parameters
    ----------
    data
        What `build_urn` or `load_urn` returned.
    path
        File to write, ending in ``.jsonl`` or ``.jsonl.gz``. It appears whole or not at all.

    Notes
    -----
    Each line is an object with ``id``, ``label``, ``city``, ``group`` (spatial block), ``centre``
    (lat, lon), ``landmark``, ``set`` (radii, cut, seed), ``unit``, ``crs``, ``nodes`` as [id, lon, lat]
    and ``edges`` as [from, to, length]. Numbers are written so that they are read back exactly.
    """
    target = check_name(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    about = {key: data[key] for key in _PARAMETERS if key in data}
    show = ProgressLine(f"writing {target.name}")

    def write(part: Path) -> None:
        # no time and no name in the header: equal sets give equal files
        with part.open("wb") as raw, _lines(raw, compress=target.name.lower().endswith(".gz")) as file:
            for at, graph in enumerate(data.graphs):
                record = {
                    "id": graph.name,
                    "label": str(data.y[at]),
                    "city": str(data.city[at]),
                    "group": int(data.groups[at]),
                    "centre": data.centres[at].tolist(),
                    "landmark": _plain(data.landmarks[at]),
                    "set": about,
                    **_graph_record(graph),
                }
                line = json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
                file.write(f"{line}\n".encode())
                show((at + 1) / len(data.graphs))

    write_whole(target, write)
    return target


def check_name(path: str | os.PathLike[str]) -> Path:
    """Return the path of a file to write, or raise if its name is not one of JSON lines."""
    target = Path(path)
    if not target.name.lower().endswith(_ENDINGS):
        raise InvalidOptionError(f"{target.name}: give a name that ends in {' or '.join(_ENDINGS[:2])}")
    return target


def read_urn(path: str | os.PathLike[str]) -> Bunch:
    """Return a set that `save_urn` (or ``torelli urn build``) wrote, as `build_urn` returned it.

    Parameters
    ----------
    path
        The file.
    """
    from torelli.io.read import read  # noqa: PLC0415  (readers are not needed to import the package)

    graphs = read(path)
    name = Path(path).name
    budget = Budget(Path(path))
    records: list[dict[str, Any]] = []
    for number, line in enumerate(lines(Path(path), budget), 1):
        if not line or line.isspace():
            continue
        record = parse_json(line, f"{name}, line {number:,}", budget)
        missing = [key for key in _NEEDED if key not in record]
        if missing:
            raise FormatError(
                f"{name}, line {number:,}: there is no {', '.join(missing)}; give a file that save_urn wrote"
            )
        records.append({key: record[key] for key in (*_NEEDED, "landmark") if key in record})
        budget.take(sum(json_bytes(json.dumps(value), budget) for value in records[-1].values()))
    y = np.array([record["label"] for record in records])
    return Bunch(
        graphs=graphs,
        y=y,
        city=np.array([record["city"] for record in records]),
        groups=np.array([record["group"] for record in records], dtype=np.int64),
        centres=np.array([record["centre"] for record in records], dtype=np.float64).reshape(-1, 2),
        landmarks=[record.get("landmark") for record in records],
        target_names=np.unique(y),
        DESCR=f"{len(graphs)} windows read from {name}.",
        **records[0]["set"],
    )


def _lines(raw: Any, *, compress: bool) -> Any:  # noqa: ANN401  (files)
    return gzip.GzipFile(fileobj=raw, mode="wb", filename="", mtime=0) if compress else raw


def _graph_record(graph: MetricGraph) -> dict[str, Any]:
    ids = range(graph.n_nodes) if graph.node_ids is None else [_plain(node) for node in graph.node_ids]
    places = graph.coordinates.tolist()  # type: ignore[union-attr]  # windows have coordinates
    return {
        "unit": graph.unit,
        "crs": graph.crs,
        "nodes": [[node, *place] for node, place in zip(ids, places, strict=True)],
        "edges": [
            [ids[u], ids[v], length]
            for u, v, length in zip(
                graph.tail.tolist(), graph.head.tolist(), graph.length.tolist(), strict=True
            )
        ],
    }


def _plain(value: Any) -> Any:  # noqa: ANN401  (a node id)
    """Return an id as JSON has it; what it has not, such as a pair, as text."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, _PLAIN) else str(value)
