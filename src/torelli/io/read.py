"""Files to metric graphs: `read` finds the files, and a reader for each by its name and content."""

from __future__ import annotations

import glob
import os
from dataclasses import replace
from inspect import Parameter, cleandoc, signature
from pathlib import Path
from textwrap import indent, wrap
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from torelli import _memory
from torelli._errors import (
    DataNotFoundError,
    Fault,
    FormatError,
    InvalidGraphError,
    InvalidOptionError,
    RequestTooLargeError,
    TorelliError,
    quoted,
    shortened,
    within,
)
from torelli._units import in_unit
from torelli.io import epanet, gml, graphml, jsonlines, lines, osm, pajek, swc, tables, tu
from torelli.io.directed import Directions
from torelli.io.edges import warn, zero_lengths
from torelli.io.files import check_limit
from torelli.io.readers import (
    READERS,
    Reader,
    Record,
    SourceFile,
    check_options,
    own_options,
    register,
)
from torelli.io.values import check_values

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from torelli.graph import MetricGraph
    from torelli.io.edges import Zero

    Function = TypeVar("Function", bound=Callable[..., Any])

_FILES_SHOWN, _MOST_OF_FILES = 20, 10_000
_UNITS_SHOWN = 10
_PATH = 400  # of a path, whose end matters, more is shown than of a value
_WIDTH = 90
_PICKLES = (".pickle", ".pkl", ".gpickle", ".p")
_BY_GDAL = "convert it to GeoPackage, such as with `ogr2ogr NAME.gpkg FILE` or in QGIS"
_OF_SHAPEFILE = "it is a part of a shapefile: give NAME.shp, beside which it must lie"
_REMEDIES = {
    **dict.fromkeys((".kml", ".kmz", ".gdb", ".tab", ".mif", ".dxf", ".gpx", ".sqlite"), _BY_GDAL),
    **dict.fromkeys((".dbf", ".shx", ".prj", ".cpg", ".sbn", ".sbx"), _OF_SHAPEFILE),
    **dict.fromkeys((".xlsx", ".xls", ".ods"), "save the sheet as NAME.csv"),
    ".txt": "if it is a list of edges, rename it to NAME.csv; blanks, tabs or commas may separate columns",
    ".gexf": "convert it in Python: networkx.write_graphml(networkx.read_gexf('NAME.gexf'), 'NAME.graphml')",
}
"""Remedies for common formats that are not read, by suffix."""

for _reader in (
    graphml.GRAPHML, osm.OSM, osm.OVERPASS, jsonlines.JSON_LINES, tables.CSV, epanet.EPANET, gml.GML,
    pajek.PAJEK, swc.SWC, lines.LINES, tu.TU, lines.ZIPPED_LINES,
):  # fmt: skip
    register(_reader)


def _with_reader_options(function: Function) -> Function:
    """Show the options of the readers in the signature and the docstring of a function."""
    parameters = [*signature(function).parameters.values()][:-1]
    entries = []
    for name, option in own_options().items():
        parameters.append(Parameter(name, Parameter.KEYWORD_ONLY, default=option.default))
        formats = ", ".join(reader.name for reader in READERS.values() if option in reader.options)
        text = f"Of {formats}: {option.help}."
        entries.append(f"{name}\n" + indent("\n".join(wrap(text, _WIDTH)), "    "))
    # Python 3.13 takes the indentation out of docstrings, so it is taken out before
    function.__doc__ = cleandoc(function.__doc__ or "").replace("{options}", "\n".join(entries)) + "\n"
    function.__signature__ = signature(function).replace(parameters=parameters)  # type: ignore[attr-defined]
    return function


@_with_reader_options
def read(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    length: str | float = "length",
    unit: str | None = None,
    values: bool | Iterable[str] = True,
    direction_tolerance: float | None = None,
    zero: Zero = "error",
    max_bytes: int | None = None,
    **options: Any,
) -> list[MetricGraph]:
    r"""Return the metric graphs of files.

    Parameters
    ----------
    path
        A file, a pattern such as ``"cities/*.graphml.gz"``, a folder (all its files of one
        format), or a list of these. The format follows from the file name: GraphML, OpenStreetMap
        (.osm, .osm.gz, .osm.bz2, .osm.pbf), an Overpass .json, GeoPackage, GeoJSON, GeoParquet,
        FlatGeobuf and Shapefile (or a zip of one) of lines, CSV and other edge lists, JSON lines, SWC,
        EPANET (.inp), GML, Pajek (.net), and TU folders or zips.
    length
        Name of the attribute or column with the edge lengths, where the file states them; or a number,
        which is then the length of every edge.
    unit
        Unit for the lengths, such as ``"m"``. If the file states another unit, lengths are converted; if it
        states none, they are taken to be in this one. By default the unit of the file.
    values
        Which other values on edges to keep as `MetricGraph.edge_values`: True for all but ``geometry``, False
        for none, or a list of names. For OpenStreetMap, True keeps the way's id and the tags that OSMnx
        keeps.
    direction_tolerance
        For directed graphs: as for `as_metric_graph`.
    zero
        How to treat edges of length zero: ``"error"`` raises an error; ``"contract"`` contracts them to
        points, with a warning that gives the count. Formats whose lengths are measured between places always
        contract them.
    max_bytes
        Largest amount of memory to use for reading one file, and its largest size after decompression, in
        bytes; by default half of the free memory.
    {options}

    Returns
    -------
    graphs
        Always a list: files in the order given, those of a pattern or folder sorted by path, and
        graphs in the order of their file. Each keeps its name (the one in the file, or else the file name),
        source (the file name), unit, node ids, coordinates and reference system where known.

    Raises
    ------
    DataNotFoundError
        If there is no such file.
    FormatError, InvalidGraphError
        If files cannot be read; the message says what is wrong with each.
    InvalidOptionError
        If no reader has an option with the given name.
    RequestTooLargeError
        If a file would take more memory than `max_bytes`; even a file of a few kilobytes may need gigabytes.
    MissingExtraError
        If a format needs a package that is not installed; the message names the extra.

    Warns
    -----
    DataWarning
        If something in a file was resolved by a rule; the message gives the rule and the count.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torelli as tt
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "roads.csv")
    ...     _ = path.write_text("from,to,length\na,b,1\nb,c,2\nc,a,2.5\n")
    ...     tt.read(path)
    [MetricGraph('roads': 3 nodes, 3 edges, genus 1, total length 5.5)]
    """
    records = read_records(
        path,
        length=length,
        unit=unit,
        values=values,
        direction_tolerance=direction_tolerance,
        zero=zero,
        max_bytes=max_bytes,
        **options,
    )
    return [record.graph for record in records]


@_memory.refused_if_too_large("reading the files", "read fewer or smaller files at a time")
@_with_reader_options
def read_records(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    length: str | float = "length",
    unit: str | None = None,
    values: bool | Iterable[str] = True,
    direction_tolerance: float | None = None,
    zero: Zero = "error",
    max_bytes: int | None = None,
    **options: Any,
) -> list[Record]:
    """Return the metric graphs of files together with the other fields of each, such as its label.

    Parameters
    ----------
    path, length, unit, values, direction_tolerance, zero, max_bytes
        As for `read`.
    {options}

    Returns
    -------
    records
        In the order of `read`, each with ``graph`` and ``fields``: the other keys of a line of JSON lines,
        the attributes of a graph in GraphML and GML as text, the ``label`` of a graph in a TU set, and the
        columns of a CSV that have one value in each graph. Other formats have no further fields.

    Raises
    ------
    DataNotFoundError, FormatError, InvalidGraphError, InvalidOptionError, RequestTooLargeError, \
MissingExtraError
        As for `read`.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from torelli import read_records
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "rings.jsonl"
    ...     _ = file.write_text('{"edges": [[0, 0, 3.5]], "label": "ring"}')
    ...     records = read_records(file)
    >>> [(record.graph.total_length, record.fields["label"]) for record in records]
    [(3.5, 'ring')]
    """
    check_limit(max_bytes)
    check_options(options)
    kept_values = check_values(values)
    _check_length(length)
    directions = Directions(direction_tolerance)
    records: list[Record] = []
    errors: list[TorelliError] = []
    with zero_lengths(zero):
        for file in find_files(path):
            try:
                source = SourceFile(file, length, unit, directions, max_bytes, kept_values)
                content = reader_of(source).records(source, options)
                _check_edges([record.graph for record in content], file.name)
                if not isinstance(length, str):
                    content = [_with_length(record, length, unit) for record in content]
                records += content if unit is None else [_in_unit(record, unit) for record in content]
            except (FormatError, InvalidGraphError, RequestTooLargeError) as error:
                errors.append(_named(error, file))
        if errors:
            raise _together(errors)
    directions.tell()
    _warn_of_units([record.graph for record in records])
    return records


def _check_length(length: str | float) -> None:
    """Raise unless lengths are named, or one for all edges."""
    if isinstance(length, str):
        return
    is_number = isinstance(length, (int, float)) and not isinstance(length, bool)
    if not is_number or not 0 < length < float("inf"):
        raise InvalidOptionError(
            f"length is {quoted(length)}: use the name of an attribute, or a positive number for every edge"
        )


def _with_length(record: Record, length: float, unit: str | None) -> Record:
    """Return a record whose edges all have one length, in a unit that the caller may state."""
    graph = record.graph
    return record._replace(graph=graph.replace(length=np.full(graph.n_edges, float(length)), unit=unit))


def _in_unit(record: Record, unit: str) -> Record:
    graph = record.graph
    return record if graph.unit == unit else record._replace(graph=in_unit(graph, unit))


def find_files(
    path: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    leave_out: Path | None = None,
    archives: tuple[str, ...] = (),
) -> list[Path]:
    """Return the files (and TU folders) that a path, pattern, folder or list of these stands for.

    `leave_out` is a file among them that is not a graph, such as a table of labels. `archives` are endings of
    archives that the caller reads; a folder may have them beside files of one format.
    """
    if not isinstance(path, (str, os.PathLike)):
        return [file for one in path for file in find_files(one, leave_out=leave_out, archives=archives)]
    if not os.fspath(path):
        raise DataNotFoundError("the name of a file is empty: give a file, a pattern or a folder")
    exact = Path(path).expanduser()
    try:
        if exact.is_dir():
            return _files_of_folder(exact, leave_out, archives)
        if exact.exists():
            return [exact]
        matches = sorted(Path(name) for name in glob.glob(str(exact), recursive=True))  # noqa: PTH207  (absolute too)
        files = [
            file
            for match in matches
            for file in (_files_of_folder(match, leave_out, archives) if match.is_dir() else [match])
            if leave_out is None or not file.samefile(leave_out)
        ]
    except TorelliError:
        raise
    except (ValueError, OSError) as error:  # a name that no file can have
        raise DataNotFoundError(
            f"no file {quoted(os.fspath(path), _PATH)}: {shortened(str(error), _PATH)}"
        ) from error
    if not files:
        raise DataNotFoundError(
            f"no file matches {quoted(os.fspath(path), _PATH)}; check the path or pattern"
        )
    return files


def _files_of_folder(folder: Path, leave_out: Path | None, archives: tuple[str, ...]) -> list[Path]:
    if any(reader.is_folder is not None and reader.is_folder(folder) for reader in READERS.values()):
        return [folder]

    def is_archive(file: Path) -> bool:
        return file.name.lower().endswith(archives)

    files = sorted(
        file
        for file in folder.iterdir()
        if file.is_file()
        and (_candidates(file) or is_archive(file))
        and (leave_out is None or not file.samefile(leave_out))
    )
    if not files:
        raise DataNotFoundError(f"no file of a known format in {quoted(str(folder), _PATH)}")
    by_format: dict[str, list[str]] = {}
    for file in files:
        if is_archive(file):
            continue
        formats = " or ".join(reader.name for reader in _candidates(file))
        by_format.setdefault(formats, []).append(file.name)
    if len(by_format) > 1:
        counts = ", ".join(f"{len(names):,} {key} (such as {names[0]})" for key, names in by_format.items())
        raise FormatError(
            f"{folder.name}: the folder holds files of several formats: {counts}; give a pattern"
        )
    return files


def _candidates(path: Path) -> list[Reader]:
    """Return the readers that a file's name allows."""
    return [reader for reader in READERS.values() if reader.matches(path)]


def reader_of(file: SourceFile) -> Reader:
    """Return the reader of a file or folder: by its name, and by its content if several have that name."""
    path = file.path
    if path.is_dir():
        return next(reader for reader in READERS.values() if reader.is_folder and reader.is_folder(path))
    if not path.is_file():
        raise FormatError(f"{path.name}: not a regular file")
    candidates = _candidates(path)
    if not candidates and any(suffix.lower() in _PICKLES for suffix in path.suffixes[-2:]):
        raise FormatError(
            f"{path.name}: pickles are never loaded, because loading one runs whatever code is in it; if you "
            "trust it, load it in Python and write another format: osmnx.save_graphml(graph, 'city.graphml') "
            "for a graph of OSMnx, networkx.write_graphml for others"
        )
    if not candidates:
        known = ", ".join(sorted({suffix for reader in READERS.values() for suffix in reader.suffixes}))
        remedy = _REMEDIES.get(path.suffix.lower())
        if remedy is not None:
            remedy = remedy.replace("NAME", path.stem).replace("FILE", path.name)
            raise FormatError(f"{path.name}: {path.suffix} files are not read; {remedy}")
        raise FormatError(f"{path.name}: the format is not known; files that can be read end in {known}")
    if len(candidates) == 1:
        return candidates[0]
    for reader in candidates:
        if reader.recognises is not None and reader.recognises(file):
            return reader
    contents = " nor ".join(reader.content for reader in candidates)
    raise FormatError(f"{path.name}: the content is neither {contents}")


def _named(error: TorelliError, file: Path) -> TorelliError:
    """Put the file name before what is wrong, where it is not there already."""
    if isinstance(error, InvalidGraphError):
        return InvalidGraphError([_fault_in(fault, file.name) for fault in error.faults])
    message = str(error)
    if message.startswith(str(file)):
        return type(error)(file.name + message.removeprefix(str(file)))
    return error if message.startswith(file.name) else type(error)(f"{file.name}: {error}")


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
    too_large = all(isinstance(error, RequestTooLargeError) for error in errors)
    category = RequestTooLargeError if too_large else FormatError
    return category("\n  ".join([f"{len(errors):,} files cannot be read:", *lines, *more]))


def _check_edges(graphs: list[MetricGraph], file: str) -> None:
    """Refuse a file with neither nodes nor edges, and warn of one that has nodes only."""
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
            f"the graphs have lengths in {len(counts)} units: {shown}; they are kept as in the files. "
            "Convert them with unit=..., such as unit='m' (on the command line: --unit m)"
        )
