"""Files to metric graphs: `read` finds the files, and the reader by the end of each file's name."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torelli import _memory
from torelli._errors import (
    DataNotFoundError,
    Fault,
    FormatError,
    InvalidGraphError,
    RequestTooLargeError,
    TorelliError,
    quoted,
    shortened,
    within,
)
from torelli._units import in_unit
from torelli.io.directed import Directions
from torelli.io.edges import warn
from torelli.io.files import COMPRESSIONS, Budget, check_limit, json_bytes, parse_json, read_text
from torelli.io.tu import read_tu_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from torelli.graph import MetricGraph
    from torelli.io.osm import NetworkType

_LINES = (".gpkg", ".geojson", ".parquet", ".geoparquet", ".shp")
_KINDS: dict[str, str] = {
    **{".graphml" + packed: "graphml" for packed in ("", *COMPRESSIONS)},
    **{".osm" + packed: "osm" for packed in ("", *COMPRESSIONS)},
    ".pbf": "osm",
    **{".json" + packed: "json" for packed in ("", *COMPRESSIONS)},
    **{suffix + packed: "json lines" for suffix in (".jsonl", ".ndjson") for packed in ("", *COMPRESSIONS)},
    **{suffix + packed: "csv" for suffix in (".csv", ".tsv") for packed in ("", *COMPRESSIONS)},
    **{".swc" + packed: "swc" for packed in ("", *COMPRESSIONS)},
    **dict.fromkeys(_LINES, "lines"),
    ".zip": "tu",
}
_FILES_SHOWN, _MOST_OF_FILES = 20, 10_000
_UNITS_SHOWN = 10
_PATH = 400  # of a path, whose end matters, more is shown than of a value


@dataclass(frozen=True)
class _Options:
    """The options of `read`, for the readers to take what concerns them."""

    length: str
    unit: str | None
    network_type: NetworkType | None
    tolerance: float | None
    layer: str | None
    max_bytes: int | None
    directions: Directions


@_memory.refused_if_too_large("reading the files", "read fewer or smaller files at a time")
def read(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    length: str = "length",
    unit: str | None = None,
    network_type: NetworkType | None = "drive",
    tolerance: float | None = None,
    layer: str | None = None,
    direction_tolerance: float | None = None,
    max_bytes: int | None = None,
) -> list[MetricGraph]:
    """Read metric graphs from files.

    Parameters
    ----------
    path
        A file, a pattern such as ``"cities/*.graphml.gz"``, a folder (all its files of one
        format), or a list of these. The format follows from the file name: GraphML, OpenStreetMap
        (.osm, .osm.gz, .osm.bz2, .osm.pbf), an Overpass .json, GeoPackage, GeoJSON, GeoParquet and
        Shapefile of lines, CSV edge lists, JSON lines, SWC, and TU folders or zips.
    length
        Name of the attribute or column with the edge lengths, where the file states them.
    unit
        Unit to have lengths in, such as ``"m"``: where the file states another they are converted,
        where it states none they are taken to be in this one. By default as in the file.
    network_type
        Which ways of OpenStreetMap files are taken: ``"drive"`` (public drivable streets),
        ``"drive_service"`` (with service roads), ``"all"`` (every road and path), by the same
        tags as in OSMnx, or None for every way, whatever it is.
    tolerance
        For lines: distance within which end points are one node, in the unit of the lengths; by
        default a thousandth (a millimetre), or 0 where there is no reference system.
    layer
        For lines: name of the layer to read; by default the only one that has lines.
    direction_tolerance
        For directed graphs (GraphML): as for `as_metric_graph`.
    max_bytes
        Most memory that reading one file may take, and most bytes it may have after decompression; by
        default half of the memory that is free.

    Returns
    -------
    graphs
        Always a list: files in the order given, those of a pattern or folder sorted by path, and
        graphs in the order of their file. Each keeps its name (that in the file, else the file's),
        source (the file name), unit, node ids, coordinates and reference system where known.

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    FormatError, InvalidGraphError
        With what is wrong in each file that cannot be read.
    RequestTooLargeError
        If a file would take more memory than `max_bytes`; a few kilobytes may stand for gigabytes.
    MissingExtraError
        If a format needs a package that is not installed; the message names the extra.

    Warns
    -----
    DataWarning
        Where something was resolved by a rule, with the count and the rule.
    """
    check_limit(max_bytes)
    directions = Directions(direction_tolerance)
    options = _Options(length, unit, network_type, tolerance, layer, max_bytes, directions)
    graphs: list[MetricGraph] = []
    errors: list[TorelliError] = []
    for file in find_files(path):
        try:
            found = _read_file(file, options)
            _check_edges(found, file.name)
            graphs += found
        except (FormatError, InvalidGraphError, RequestTooLargeError) as error:
            errors.append(_named(error, file.name))
    if errors:
        raise _together(errors)
    directions.tell()
    _warn_of_units(graphs)
    return graphs


def find_files(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]], *, leave_out: Path | None = None
) -> list[Path]:
    """Return the files (and TU folders) that a path, pattern, folder or list of these stands for.

    `leave_out` is a file that is no graph though it lies among them, such as a table of labels.
    """
    if not isinstance(path, (str, os.PathLike)):
        return [file for one in path for file in find_files(one, leave_out=leave_out)]
    exact = Path(path).expanduser()
    try:
        if exact.is_dir():
            return _files_of_folder(exact, leave_out)
        if exact.exists():
            return [exact]
        matches = sorted(Path(name) for name in glob.glob(str(exact), recursive=True))  # noqa: PTH207  (absolute too)
        found = [
            file
            for match in matches
            for file in (_files_of_folder(match, leave_out) if match.is_dir() else [match])
            if leave_out is None or not file.samefile(leave_out)
        ]
    except TorelliError:
        raise
    except (ValueError, OSError) as error:  # a name that no file can have
        raise DataNotFoundError(
            f"no file {quoted(os.fspath(path), _PATH)}: {shortened(str(error), _PATH)}"
        ) from error
    if not found:
        raise DataNotFoundError(
            f"no file matches {quoted(os.fspath(path), _PATH)}; check the path or pattern"
        )
    return found


def _files_of_folder(folder: Path, leave_out: Path | None) -> list[Path]:
    if any(folder.glob("*_A.txt")):
        return [folder]
    files = sorted(
        file
        for file in folder.iterdir()
        if file.is_file() and _kind(file) and (leave_out is None or not file.samefile(leave_out))
    )
    if not files:
        raise DataNotFoundError(f"no file of a known format in {quoted(str(folder), _PATH)}")
    by_kind: dict[str, list[str]] = {}
    for file in files:
        by_kind.setdefault(_kind(file), []).append(file.name)
    if len(by_kind) > 1:
        counts = ", ".join(f"{len(names):,} {kind} (such as {names[0]})" for kind, names in by_kind.items())
        raise FormatError(
            f"{folder.name}: the folder holds files of several formats: {counts}; give a pattern"
        )
    return files


def _kind(path: Path) -> str:
    """Return the kind of file that the end of a name says, '' if none."""
    name = path.name.lower()
    return next((kind for suffix, kind in _KINDS.items() if name.endswith(suffix)), "")


def _stem(path: Path) -> str:
    name = path.name.removesuffix(path.suffix) if path.suffix.lower() in COMPRESSIONS else path.name
    stem = Path(name).stem
    return stem.removesuffix(".osm") or path.name


def _read_file(path: Path, options: _Options) -> list[MetricGraph]:
    graphs = _parse(path, options, Budget(path, options.max_bytes))
    return [graph if options.unit in {None, graph.unit} else in_unit(graph, options.unit) for graph in graphs]


def _parse(path: Path, options: _Options, budget: Budget) -> list[MetricGraph]:  # noqa: PLR0911  (one for each format)
    about: dict[str, Any] = {
        "name": _stem(path),
        "source": path.name,
        "unit": options.unit,  # where the file states none
        "budget": budget,
    }
    length = options.length
    kind = "tu" if path.is_dir() else _kind(path)
    if kind != "tu" and not path.is_file():
        raise FormatError(f"{path.name}: not a regular file")
    # each reader is imported where it is needed: a user of one format does not wait for the others
    if kind == "graphml":
        from torelli.io.graphml import read_graphml  # noqa: PLC0415

        return read_graphml(path, length=length, directions=options.directions, **about)
    if kind == "osm":
        from torelli.io.osm import read_osm  # noqa: PLC0415

        return [read_osm(path, network_type=options.network_type, **about)]
    if kind == "json":
        return [_read_json(path, options, about)]
    if kind == "json lines":
        from torelli.io.jsonlines import read_json_lines  # noqa: PLC0415

        return read_json_lines(path, length=length, **about)
    if kind == "csv":
        from torelli.io.tables import read_csv  # noqa: PLC0415

        return [read_csv(path, length=length, **about)]
    if kind == "swc":
        from torelli.io.swc import read_swc  # noqa: PLC0415

        return [read_swc(path, **about)]
    if kind == "lines":
        return [_read_lines(path, options, about)]
    if kind == "tu":
        return _read_tu(path, options.max_bytes)
    known = ", ".join(sorted(suffix for suffix in _KINDS if not suffix.endswith(COMPRESSIONS)))
    raise FormatError(f"{path.name}: the format is not known by the file's name; known are {known}")


def _read_json(path: Path, options: _Options, about: dict[str, Any]) -> MetricGraph:
    """Tell an answer of the Overpass API from GeoJSON by its content."""
    budget: Budget = about["budget"]
    text = read_text(path, budget)
    content = parse_json(text, path.name, budget)
    budget.take(json_bytes(text, budget))
    del text
    if isinstance(content, dict) and "elements" in content:
        from torelli.io.osm import from_overpass  # noqa: PLC0415

        return from_overpass(content, options.network_type, **about)
    if (
        isinstance(content, dict)
        and content.get("type") == "FeatureCollection"
        and path.suffix.lower() == ".json"
    ):
        del content
        return _read_lines(path, options, {**about, "budget": Budget(path, options.max_bytes)})
    raise FormatError(
        f"{path.name}: the JSON is neither an answer of the Overpass API ('elements') nor GeoJSON "
        "('FeatureCollection'); name JSON lines .jsonl"
    )


def _read_lines(path: Path, options: _Options, about: dict[str, Any]) -> MetricGraph:
    from torelli.io.lines import read_lines  # noqa: PLC0415

    return read_lines(path, tolerance=options.tolerance, layer=options.layer, **about)


def _read_tu(path: Path, max_bytes: int | None) -> list[MetricGraph]:
    """Read a TU set with the lengths that it states, else with unit lengths and a warning."""
    data = read_tu_set(path, Budget(path, max_bytes))
    problem = "the set has no edge attributes"
    if data.has_lengths():
        try:
            return data.graphs(data.own_lengths())
        except FormatError as error:
            problem = f"the edge attributes are not lengths ({error})"
    warn(
        f"{problem}: every edge has length 1; choose lengths with datasets.load_tu(path, lengths=...)",
        name=path.name,
    )
    return data.graphs(np.ones(len(data.tail)))


def _named(error: TorelliError, file: str) -> TorelliError:
    """Put the file name before what is wrong, where it is not there already."""
    if isinstance(error, InvalidGraphError):
        return InvalidGraphError([_fault_in(fault, file) for fault in error.faults])
    return error if str(error).startswith(file) else type(error)(f"{file}: {error}")


def _fault_in(fault: Fault, file: str) -> Fault:
    if fault.name is None or file.startswith(fault.name):
        return replace(fault, name=file)
    return fault if fault.name.startswith(file) else replace(fault, name=f"{shortened(fault.name)} in {file}")


def _together(errors: list[TorelliError]) -> TorelliError:
    """Return one error for all files."""
    if len(errors) == 1:
        return errors[0]
    faults = [fault for error in errors if isinstance(error, InvalidGraphError) for fault in error.faults]
    if all(isinstance(error, InvalidGraphError) for error in errors):
        return InvalidGraphError(faults)
    lines = within([str(error) for error in errors[:_FILES_SHOWN]], _MOST_OF_FILES)
    hidden = len(errors) - len(lines)
    more = [f"and {hidden:,} more"] if hidden > 0 else []
    kind = RequestTooLargeError if all(isinstance(error, MemoryError) for error in errors) else FormatError
    return kind("\n  ".join([f"{len(errors):,} files cannot be read:", *lines, *more]))


def _check_edges(graphs: list[MetricGraph], file: str) -> None:
    """Refuse a file of nothing at all, and warn of one that has nodes only."""
    if any(graph.n_edges for graph in graphs):
        return
    if not any(graph.n_nodes for graph in graphs):
        raise FormatError(f"{file}: the file has no edges, and no nodes either; get it again")
    warn("the file has no edges; its nodes are kept", name=file)


def _warn_of_units(graphs: list[MetricGraph]) -> None:
    counts: dict[str, int] = {}
    for graph in graphs:
        if graph.unit is not None:
            counts[graph.unit] = counts.get(graph.unit, 0) + 1
    if len(counts) > 1:
        shown = ", ".join(
            f"{count:,} in {quoted(unit)}" for unit, count in sorted(counts.items())[:_UNITS_SHOWN]
        )
        warn(
            f"the graphs have lengths in {len(counts)} units: {shown}; lengths are as in the files, and are "
            "converted with unit=..., such as unit='m' (on the command line: --unit m)"
        )
