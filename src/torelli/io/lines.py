"""Lines with coordinates: GeoDataFrames, and the files that geopandas reads.

Each line is an edge. Its end points are nodes: end points within a tolerance of one another, also
through others in between, are one node. Lines that cross or touch elsewhere are joined if they are to be
split there, which `torelli.io.noding` does. Length
is measured along the line: in the plane where coordinates are projected (z is not used), on the
ellipsoid where they are longitude and latitude. Web Mercator, whose plane stretches lengths by
1 / cos(latitude), is turned into longitude and latitude first. The other columns are values on the edges,
and every piece of a line that is split has those of the line.
"""

from __future__ import annotations

import json
import tempfile
import warnings
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from torelli._errors import (
    Fault,
    FormatError,
    InvalidGraphError,
    InvalidOptionError,
    counted,
    listed,
    quoted,
    shortened,
)
from torelli._geo import EARTH_RADIUS, LONLAT, check_lonlat
from torelli.graph import MetricGraph
from torelli.io.edges import contract_points, warn
from torelli.io.files import foreign_errors, measure, read_member, require, zip_sizes
from torelli.io.noding import LEVEL_COLUMNS, Lines, Pieces, levels, split_lines
from torelli.io.readers import Option, Reader
from torelli.io.values import EdgeValues, column_of_frame

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from numpy.typing import NDArray

    from torelli._types import Floats, ForeignObject, GraphLike, Ints
    from torelli.io.files import Budget
    from torelli.io.readers import SourceFile

Others = Literal["error", "leave out"]

TOLERANCE = 1e-3
"""Default distance in metres (or the unit of the reference system) within which end points are one node."""

_WEB_MERCATOR = 3857
_CLEARANCE = 1.0  # metres of height between lines on different levels; no bridge is that low
_LEAST_COSINE = 0.01  # nearer to a pole than half a degree there are no roads
_MAX_PAIRS = 50_000_000
_FIELD = 100  # bytes of a value in a column
_LINE, _WKB = 1500, 10  # bytes of a line, and for each byte of its points in binary, at most
_GEOJSON = (160, 700)  # bytes for each list and each object of GeoJSON: a point, and a third of a feature
_FEATURE = 500_000_000  # bytes of the largest object that GDAL parses
_ROWS = 1024  # of a GeoParquet file that are counted together
_TEXTS = ("binary", "large_binary", "string", "large_string")  # what GeoParquet may store as a dictionary
_SIGNATURES = {
    ".gpkg": b"SQLite format 3\0",
    ".shp": b"\x00\x00\x27\x0a",
    ".fgb": b"fgb",
    ".parquet": b"PAR1",
    ".geoparquet": b"PAR1",
}


def is_geojson(file: SourceFile) -> bool:
    """Whether a JSON file is GeoJSON."""
    content = file.json()
    return isinstance(content, dict) and content.get("type") == "FeatureCollection"


def is_zip_of_lines(file: SourceFile) -> bool:
    """Whether a zip holds a shapefile or another file of lines."""
    return bool(_main_members(file.path))


def read_zip(file: SourceFile, **options: Any) -> MetricGraph:
    """Return the graph of a zipped file of lines, such as the shapefiles that most agencies publish."""
    main = _main_members(file.path)
    if len(main) > 1:
        raise FormatError(f"{file.name}: it has {len(main):,} files of lines ({listed(main)}); unpack it")
    stem = PurePosixPath(main[0]).with_suffix("")
    with tempfile.TemporaryDirectory(prefix="torelli-") as folder:
        for member, n_bytes in zip_sizes(file.path).items():
            if PurePosixPath(member).with_suffix("") == stem:
                file.budget.check(n_bytes)
                Path(folder, PurePosixPath(member).name).write_bytes(read_member(file.path, member))
        return read_lines(file, path=Path(folder, PurePosixPath(main[0]).name), **options)


def _main_members(path: Path) -> list[str]:
    """Return the members of a zip that are files of lines, without the side files of shapefiles."""
    own = (*_SIGNATURES, ".geojson")
    names = [name for name in zip_sizes(path) if PurePosixPath(name).suffix.lower() in own]
    return [name for name in names if not name.startswith("__MACOSX/")]


def read_lines(
    file: SourceFile,
    *,
    tolerance: float | None,
    layer: str | None,
    split: bool,
    path: Path | None = None,
) -> MetricGraph:
    """Return the graph of a GeoPackage, GeoJSON, GeoParquet, Shapefile or FlatGeobuf of lines.

    It is at `path`, if that is not the file itself.
    """
    file.forget()
    path, budget = path or file.path, file.budget
    geopandas = require("geopandas", "geo", f"reading {path.suffix}")
    _check_signature(path)
    parquet = path.suffix.lower() in {".parquet", ".geoparquet"}
    if parquet and layer is not None:
        raise FormatError(f"{path.name}: GeoParquet has no layers; leave out layer={quoted(layer)}")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with foreign_errors(path.name, "geopandas"):
            values = file.edge_values(measured=True)

            def reads(name: str) -> bool:
                return values.keeps(name) or (split and name.lower() in LEVEL_COLUMNS)

            if parquet:
                frame = geopandas.read_parquet(path, columns=_check_parquet(path, budget, reads))
            else:
                chosen = _layer(path, layer)
                fields = _check_features(path, chosen, budget, reads)
                frame = geopandas.read_file(path, layer=chosen, columns=fields, engine="pyogrio")
            if not hasattr(frame, "geometry"):
                raise FormatError(f"{path.name}: there is no geometry in the file")
    if caught:
        warn(
            f"{len(caught):,} warnings while reading, the first: {shortened(str(caught[0].message), 300)}",
            name=path.name,
        )
    with foreign_errors(path.name, "geopandas"):
        return from_geodataframe(
            frame,
            tolerance=tolerance,
            split=split,
            edge_values=values,
            others="leave out",
            **file.about(),
        )


def from_geodataframe(
    frame: GraphLike,
    _length: str = "length",
    _directions: object = None,
    *,
    tolerance: float | None = None,
    split: bool = False,
    source: str | None = None,
    values: bool | tuple[str, ...] = False,
    edge_values: EdgeValues | None = None,
    others: Others = "error",
    **about: Any,
) -> MetricGraph:
    """Convert a GeoDataFrame of LineStrings or MultiLineStrings.

    Parameters
    ----------
    frame
        The lines. If they have a reference system, lengths are in its unit, or in metres if it is geographic.
    tolerance
        Distance within which end points are one node, in the unit of the lengths. By default a
        thousandth (a millimetre), or 0 if there is no reference system and therefore no unit.
    split
        Split lines where they cross, and where an end point lies within the tolerance of one. Lines on
        different levels, by the columns ``bridge``, ``tunnel`` and ``layer`` or by z, are not joined.
    values
        Which columns to keep as values on the edges: all, none, or those with the given names.
    edge_values
        The same, with a memory budget.
    others
        How to treat rows that are not lines: raise an error, or leave them out with a warning.
    """
    if tolerance is not None and not 0 <= tolerance < np.inf:
        raise InvalidOptionError(f"tolerance is {tolerance}: use a length of 0 or more, or None")
    shapely = require("shapely", "geo", "a GeoDataFrame")
    if frame.crs is not None and frame.crs.to_epsg() == _WEB_MERCATOR:
        frame = frame.to_crs(LONLAT)
    lines, rows = _lines(shapely, frame, source, others=others)
    points, line = shapely.get_coordinates(lines, return_index=True)
    crs, geod, unit = _reference_system(frame.crs)
    if not np.isfinite(points).all():
        bad = tuple(str(i) for i in np.unique(line[~np.isfinite(points).all(axis=1)]).tolist())
        raise InvalidGraphError([Fault("a coordinate is not finite", "correct the line", bad, name=source)])
    if geod is not None:
        check_lonlat(points, LONLAT, source or "the lines", fatal=True)
    steps = _steps(points, line, geod)
    if tolerance is None:
        tolerance = 0.0 if frame.crs is None else TOLERANCE
    if split and len(lines):
        heights = shapely.get_coordinates(lines, include_z=True)[:, 2]
        given = Lines(points, line, heights, steps, levels(frame, rows), geod is not None)
        pieces = _split(shapely, given, tolerance, frame.crs, source)
        tail, head, lengths, places, rows = *pieces[:4], rows[pieces.line]
    else:
        tail, head, lengths, places = _unsplit(shapely, lines, points, line, steps, tolerance, geod, source)
    rows = rows[lengths > 0]
    tail, head, lengths, kept, contracted = contract_points(tail, head, lengths, len(places))
    if contracted:
        verbs = ("has length 0 and was", "have length 0 and were")
        warn(f"{counted(contracted, 'line', verbs)} contracted to a point", name=source)
    _warn_of_reversed(tail, head, lengths, source)
    columns = frame.drop(columns=frame.geometry.name)
    return MetricGraph(
        tail,
        head,
        lengths,
        len(kept),
        source=source,
        coordinates=places[kept],
        crs=crs,
        edge_values=_columns(columns.iloc[rows], edge_values or EdgeValues(wanted=values, length=None)),
        **{**about, "unit": unit or about.get("unit")},
    )


def _columns(rows: GraphLike, values: EdgeValues) -> dict[str, NDArray[Any]]:
    """Return the columns of rows that are kept as values on edges."""
    names = [str(name) for name in rows.columns]
    kept = {name: column_of_frame(rows, i) for i, name in enumerate(names) if values.keeps(name)}
    return values.arrays(kept)


def _split(
    shapely: ModuleType,
    lines: Lines,
    tolerance: float,
    crs: ForeignObject,
    source: str | None,
) -> Pieces:
    """Return the pieces of lines; tell what was done."""
    in_metres = 1.0
    if crs is not None and not lines.on_sphere and crs.axis_info:
        in_metres = crs.axis_info[0].unit_conversion_factor or 1.0

    def snapped(places: Floats, reach: float) -> tuple[Ints, Floats]:
        return snap(places, reach, on_sphere=lines.on_sphere, file=source)

    pieces = split_lines(shapely, lines, tolerance, _CLEARANCE / in_metres, snapped, source)
    notes = []
    if pieces.n_split:
        notes.append(
            f"{pieces.n_split:,} of {len(lines.level):,} lines were split where they meet others, "
            f"which makes {len(pieces.length):,}"
        )
    if pieces.n_apart:
        notes.append(
            f"{counted(pieces.n_apart, 'pair')} of lines meet on different levels (bridge, tunnel, layer or "
            "z) and are not joined there"
        )
    if pieces.n_along:
        notes.append(
            f"{counted(pieces.n_along, 'pair')} of lines run along one another for a stretch, which is two "
            "parallel edges"
        )
    if notes:
        warn("; ".join(notes), name=source)
    return pieces


def _unsplit(
    shapely: ModuleType,
    lines: NDArray[Any],
    points: Floats,
    line: Ints,
    steps: Floats,
    tolerance: float,
    geod: ForeignObject,
    source: str | None,
) -> tuple[Ints, Ints, Floats, Floats]:
    """Return tail, head and length of whole lines, and the places of nodes; warn of ends on other lines."""
    lengths: Floats = np.zeros(len(lines))
    np.add.at(lengths, line[1:], steps)
    first = np.searchsorted(line, np.arange(len(lines)))
    last = np.searchsorted(line, np.arange(len(lines)), side="right") - 1
    ends = points[np.concatenate([first, last])]
    node, places = snap(ends, tolerance, on_sphere=geod is not None, file=source)
    tail, head = node[: len(lines)], node[len(lines) :]
    if tolerance > 0 and len(lines):
        on_lines = _ends_on_lines(shapely, ends, node, lines, tolerance, on_sphere=geod is not None)
        if on_lines:
            warn(
                f"{on_lines:,} of {len(places):,} end points lie on another line, off its ends, and are not "
                "joined to it; if they are junctions, split=True (on the command line: --split) splits the "
                "lines there and where they cross",
                name=source,
            )
    return tail, head, lengths, places


def snap(
    points: Floats, tolerance: float, *, on_sphere: bool, file: str | None = None
) -> tuple[Ints, Floats]:
    """Return the node of each point and the place of each node: its first point.

    Points within the tolerance are one node, and so are points joined by others in between.
    """
    if not len(points):
        return np.empty(0, dtype=np.int64), points
    distinct, inverse = np.unique(points, axis=0, return_inverse=True)
    part: NDArray[np.integer[Any]] = np.arange(len(distinct))
    if tolerance > 0:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components
        from scipy.spatial import KDTree

        space = _on_sphere(distinct) if on_sphere else distinct
        tree = KDTree(space)
        if tree.count_neighbors(tree, tolerance) - len(space) > 2 * _MAX_PAIRS:
            raise FormatError(
                f"{file or 'lines'}: more than {_MAX_PAIRS:,} pairs of end points lie within the tolerance "
                f"of {tolerance:g}; give a smaller one with tolerance=..."
            )
        pairs = tree.query_pairs(tolerance, output_type="ndarray")
        links = coo_array((np.ones(len(pairs)), (pairs[:, 0], pairs[:, 1])), shape=(len(space), len(space)))
        _, part = connected_components(links, directed=False)
    node = part[inverse.reshape(-1)]
    # number nodes by their first point
    _, first, group = np.unique(node, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return rank[group], points[first[order]]


def _ends_on_lines(
    shapely: ModuleType,
    ends: Floats,
    node: Ints,
    lines: NDArray[Any],
    tolerance: float,
    *,
    on_sphere: bool,
) -> int:
    """Count the nodes that lie within the tolerance of a line without being an end of it."""
    reach: float | Floats = tolerance
    if on_sphere:  # in degrees of longitude, at least the tolerance; true distances are compared below
        cosine = np.maximum(np.cos(np.deg2rad(ends[:, 1])), _LEAST_COSINE)
        reach = np.rad2deg(tolerance / EARTH_RADIUS) / cosine
    points = shapely.points(ends)
    tree = shapely.STRtree(lines)
    on_line = np.zeros(len(ends), dtype=np.bool_)
    _, distinct = np.unique(ends, axis=0, return_index=True)
    step = max(1, _MAX_PAIRS // len(lines))
    for start in range(0, len(distinct), step):  # each end may lie on every line
        some = distinct[start : start + step]
        near = reach[some] if isinstance(reach, np.ndarray) else reach
        which, line = tree.query(points[some], predicate="dwithin", distance=near)
        end = some[which]
        apart = (node[end] != node[line]) & (node[end] != node[len(lines) + line])
        end, line = end[apart], line[apart]
        if on_sphere:
            along = shapely.line_locate_point(lines[line], points[end])
            nearest = shapely.line_interpolate_point(lines[line], along)
            gap = _on_sphere(ends[end]) - _on_sphere(shapely.get_coordinates(nearest))
            end = end[np.linalg.norm(gap, axis=1) <= tolerance]
        on_line[end] = True
    return len(np.unique(node[on_line]))


def _check_signature(path: Path) -> None:
    """Refuse a file that is not what its name says: GDAL would read it as whatever it is."""
    with path.open("rb") as file:
        start = file.read(64)
    if not start:
        raise FormatError(f"{path.name}: the file is empty; get it again")
    expected = _SIGNATURES.get(path.suffix.lower())
    right = (
        start.startswith(expected)
        if expected
        else start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"{")
    )
    if not right:
        raise FormatError(f"{path.name}: the content is not that of a {path.suffix} file; get it again")


def _layer(path: Path, wanted: str | None) -> str:
    """Return the layer to read: the one asked for, else the only one that has lines."""
    kinds = {str(name): str(kind) for name, kind in require("pyogrio", "geo", "layers").list_layers(path)}
    names = listed(kinds)
    if wanted is not None:
        if wanted not in kinds:
            raise FormatError(f"{path.name}: there is no layer {quoted(wanted)}; the layers are {names}")
        return wanted
    # a layer of mixed or unknown geometries may have lines: its rows decide
    lines = [name for name, kind in kinds.items() if "LineString" in kind or kind == "Unknown"]
    if len(kinds) == 1 or len(lines) == 1:
        return (lines or list(kinds))[0]
    if not lines:
        raise FormatError(f"{path.name}: none of the layers has lines; the layers are {names or '(none)'}")
    raise FormatError(
        f"{path.name}: {len(lines):,} layers have lines, {listed(lines)}; name one with layer=..."
    )


def _check_features(path: Path, layer: str, budget: Budget, reads: Callable[[str], bool]) -> list[str]:
    """Count the memory of the lines of a file that GDAL reads; return the columns to read."""
    size = path.stat().st_size
    pyogrio = require("pyogrio", "geo", "layers")
    if path.suffix.lower() in {".geojson", ".json"}:
        counts = measure(path, budget, b"[", b"{")
        budget.take(sum(n * each for n, each in zip(counts, _GEOJSON, strict=True)))
        budget.check(min(200 * size, _FEATURE))
        return [name for name in pyogrio.read_info(path, layer=layer)["fields"] if reads(name)]
    if path.suffix.lower() == ".shp":
        index = path.with_suffix(".shx")
        if index.is_file():
            # many records of the index may point to one place of the file
            size = 2 * int(np.fromfile(index, dtype=">i4", offset=100)[1::2].astype(np.int64).sum())
        table = path.with_suffix(".dbf")
        size += table.stat().st_size if table.is_file() else 0
    about = pyogrio.read_info(path, layer=layer, force_feature_count=True)
    columns = [name for name in about["fields"] if reads(name)]
    budget.take((_LINE + _FIELD * len(columns)) * max(about["features"], 0) + _WKB * size)
    return columns


def _check_parquet(path: Path, budget: Budget, reads: Callable[[str], bool]) -> list[str]:
    """Count the memory of the lines of a GeoParquet file; return the columns to read.

    A few bytes may encode many rows: of a column that is stored as a dictionary and numbers, only
    these are looked at.
    """
    parquet = require("pyarrow.parquet", "geo", f"reading {path.suffix}")
    compute = require("pyarrow.compute", "geo", f"reading {path.suffix}")
    file = parquet.ParquetFile(path)
    about = file.metadata
    budget.check(sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups)))
    budget.check(_LINE * about.num_rows)
    described = (file.schema_arrow.metadata or {}).get(b"geo")
    if described is None:
        raise FormatError(f"{path.name}: the file does not say which column has lines; it is not GeoParquet")
    geometries = json.loads(described)
    column = str(geometries["primary_column"])
    others = [name for name in file.schema_arrow.names if name not in geometries.get("columns", {})]
    columns = [column, *(name for name in others if name != column and reads(name))]
    types = require("pyarrow", "geo", f"reading {path.suffix}").types
    flat = [name for name in columns if not types.is_nested(file.schema_arrow.field(name).type)]
    for batch in parquet.ParquetFile(path, read_dictionary=flat).iter_batches(_ROWS, columns=columns):
        for values in batch.columns:
            size = values.nbytes
            if hasattr(values, "dictionary") and str(values.dictionary.type) in _TEXTS:
                size = compute.sum(compute.binary_length(values.dictionary).take(values.indices)).as_py() or 0
            budget.take(_LINE * len(values) + _WKB * size)
    return columns


def _lines(
    shapely: ModuleType, frame: GraphLike, source: str | None, *, others: Others
) -> tuple[NDArray[Any], Ints]:
    """Return the lines of a frame, and the row of each."""
    shapes = np.asarray(frame.geometry.values, dtype=object)
    empty = shapely.is_missing(shapes) | shapely.is_empty(shapes)
    if empty.any():
        verbs = "has no geometry and gives" if empty.sum() == 1 else "have no geometry and give"
        warn(f"{empty.sum():,} of {len(empty):,} rows {verbs} no edge", name=source)
    present = np.flatnonzero(~empty)
    shapes = shapes[present]
    wrong = ~np.isin(shapely.get_type_id(shapes), (1, 2, 5))  # LineString, LinearRing, MultiLineString
    if wrong.any():
        kinds = ", ".join(sorted({shape.geom_type for shape in shapes[wrong]}))
        if others == "error":
            problem = f"{wrong.sum():,} of {len(shapes):,} geometries are not lines but {kinds}"
            remedy = "keep the lines only, such as frame[frame.geom_type == 'LineString']"
            edges = tuple(map(str, np.flatnonzero(wrong).tolist()))
            raise InvalidGraphError([Fault(problem, remedy, edges, name=source)])
        if wrong.all():
            raise FormatError(
                f"{source}: it has no lines, only {kinds}; a network needs a line for each edge"
            )
        verb = "is" if wrong.sum() == 1 else "are"
        warn(
            f"{wrong.sum():,} of {len(shapes):,} rows {verb} left out, because only lines are edges: {kinds}",
            name=source,
        )
        present, shapes = present[~wrong], shapes[~wrong]
    lines, shape = shapely.get_parts(shapes, return_index=True)
    return lines, present[shape]


def _reference_system(crs: ForeignObject) -> tuple[str | None, ForeignObject, str | None]:
    """Return (name of the system, its ellipsoid where it is geographic, unit of lengths)."""
    if crs is None:
        return None, None, None
    geod = crs.get_geod() if crs.is_geographic else None
    authority = crs.to_authority()
    name = ":".join(authority) if authority else str(crs.to_string())
    if geod is not None:
        return name, geod, "m"
    unit = crs.axis_info[0].unit_name if crs.axis_info else None
    return name, None, "m" if unit == "metre" else unit


def _steps(points: Floats, line: Ints, geod: ForeignObject) -> Floats:
    """Return the length from each point to the next, 0 from one line to the next."""
    if geod is None:
        steps: Floats = np.hypot(*np.diff(points, axis=0).T)
    else:
        ends = [*points[:-1].T, *points[1:].T]
        if len(points[1:]) == 1:  # pyproj would convert an array of one number, which numpy 2.0 deprecates
            ends = [column.tolist() for column in ends]
        steps = np.asarray(geod.inv(*ends)[2])
    return np.where(line[1:] == line[:-1], steps, 0.0)


def _on_sphere(degrees: Floats) -> Floats:
    lon, lat = np.deg2rad(degrees).T
    return EARTH_RADIUS * np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])


def _warn_of_reversed(tail: Ints, head: Ints, lengths: Floats, source: str | None) -> None:
    """Warn where lines come in both directions, as in the edges of a directed OSMnx graph."""
    rows = list(zip(tail.tolist(), head.tolist(), lengths.round(6).tolist(), strict=True))
    forward = {row for row in rows if row[0] < row[1]}
    back = sum((v, u, length) in forward for u, v, length in rows if u > v)
    if back:
        warn(
            f"{back:,} lines of {len(tail):,} run back along another of the same length; they are parallel "
            "edges here. If they are the two directions of one street, keep one of each (in OSMnx: "
            "convert.to_undirected first)",
            name=source,
        )


_OPTIONS = (
    Option(
        "tolerance",
        "distance within which end points are one node, in the unit of the lengths (default: "
        "0.001, or 0 without a reference system)",
        type=float,
        metavar="DISTANCE",
    ),
    Option(
        "split",
        "split lines where they cross, and where an end point lies on one; lines on different levels (by "
        "columns bridge, tunnel and layer, or by z) are not joined",
        default=False,
        choices=(False, True),
    ),
    Option("layer", "name of the layer to read (by default the only one that has lines)", metavar="NAME"),
)
LINES = Reader(
    "lines",
    (".gpkg", ".geojson", ".parquet", ".geoparquet", ".shp", ".fgb", ".json"),
    read_lines,
    options=_OPTIONS,
    is_compressible=False,
    content="GeoJSON ('FeatureCollection')",
    recognises=is_geojson,
    extra="geo",
)
ZIPPED_LINES = Reader(
    "zipped lines",
    (".zip",),
    read_zip,
    options=_OPTIONS,
    is_compressible=False,
    content="a shapefile or another file of lines",
    recognises=is_zip_of_lines,
    extra="geo",
)
