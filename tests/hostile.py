"""Small files that stand for much, and a program that reads them within a limit and says what it took.

``python hostile.py LIMIT FILE...`` reads each file in a process of its own with ``max_bytes=LIMIT`` and
prints a line for each: the memory that it took, in bytes, and what came of it.
"""

from __future__ import annotations

import gzip
import os
import struct
import sys
import zipfile
import zlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SIZE = 12_000_000  # bytes of each file after decompression

_KEYS = (
    b"<graphml><key id='d' for='edge' attr.name='length'/><key id='x' for='node' attr.name='x'/>"
    b"<key id='o' for='edge' attr.name='osmid'/>"
)
_WAY = b"<osm version='0.6'><node id='1' lat='0' lon='0'/><way id='1'><tag k='highway' v='road'/>"


def write_all(folder: Path) -> list[Path]:
    """Write every hostile file; none of them is larger than a megabyte or two."""
    texts = {
        "rows.csv": _repeat(b"u,v,length\n", b"a,b,1\n"),
        "no_lengths.csv": _repeat(b"u,v,length\n", b"a,b,\n"),
        "no_ends.csv": _repeat(b"u,v,length\n", b",,1\n"),
        "names.csv": _count(b"u,v,length\n", lambda i: b"%x,%x,1\n" % (i, i + 1)),
        "units.csv": _count(b"u,v,length,unit\n", lambda i: b"a,b,1,%x\n" % i),
        "one_row.csv": _repeat(b"u,v,length", b",ab"),
        "one_quote.csv": _repeat(b'u,v,length\n"', b'a\n","'),
        "graphs.jsonl": _repeat(b"", b'{"edges":[[1,2,3]]}\n'),
        "faults.jsonl": _repeat(b"", b'{"edges":[[1,2,0]]}\n'),
        "lists.jsonl": _repeat(b'{"edges":[[]', b",[]", b"]}"),
        "objects.jsonl": _repeat(b'{"edges":[{}', b",{}", b"]}"),
        "edges.jsonl": _repeat(b'{"edges":[[1,2,3]', b",[1,2,3]", b"]}"),
        "nodes.jsonl": _count(b'{"edges":[],"nodes":[-1', lambda i: b",%d" % i, b"]}"),
        "graphs.graphml": _repeat(_KEYS, b"<graph/>", b"</graphml>"),
        "nodes.graphml": _count(_KEYS + b"<graph>", lambda i: b"<node id='%x'/>" % i, b"</graph></graphml>"),
        "edges.graphml": _repeat(
            _KEYS + b"<graph edgedefault='directed'><node id='1'/><node id='2'/>",
            b"<edge source='1' target='2'><data key='d'>1</data><data key='o'>[1,2]</data></edge>",
            b"</graph></graphml>",
        ),
        "no_lengths.graphml": _repeat(
            _KEYS + b"<graph><node id='1'/>", b"<edge source='1' target='1'/>", b"</graph></graphml>"
        ),
        "one_tag.graphml": _count(b"<graphml ", lambda i: b"a%x='' " % i, b"><graph/></graphml>"),
        "points.swc": _count(b"", lambda i: b"%d 0 %d 0 0 0 %d\n" % (i, i, i - 1)),
        "one_line.swc": _repeat(b"1 0 0 0 0 0 -1", b" 1"),
        "answer.json": _repeat(
            b'{"elements":[{"type":"way","id":1,"tags":{"highway":"road"},"nodes":[1', b",2,1", b"]}]}"
        ),
        "objects.json": _repeat(b'{"elements":[{}', b',{"":0}', b"]}"),
        "way.osm": _repeat(_WAY, b"<nd ref='1'/><nd ref='2'/>", b"</way></osm>"),
    }
    paths = []
    for name, text in texts.items():
        paths.append(folder / f"{name}.gz")
        paths[-1].write_bytes(gzip.compress(text, 1))
    paths += [_tu(folder / "labels.zip"), _pbf(folder / "nodes.osm.pbf"), _parquet(folder / "lines.parquet")]
    return paths


def _repeat(start: bytes, piece: bytes, end: bytes = b"") -> bytes:
    return start + piece * (SIZE // len(piece)) + end


def _count(start: bytes, piece: Callable[[int], bytes], end: bytes = b"") -> bytes:
    return start + b"".join(map(piece, range(SIZE // len(piece(10**6))))) + end


def _tu(path: Path) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("T_graph_labels.txt", "0\n" * 500_000)
        archive.writestr("T_graph_indicator.txt", "1\n1\n")
        archive.writestr("T_A.txt", "1,2\n")
    return path


def _pbf(path: Path) -> Path:
    """Write a .osm.pbf of four million nodes that differ by one in everything."""

    def varint(value: int) -> bytes:
        low, rest = value & 127, value >> 7
        return bytes([low | 128]) + varint(rest) if rest else bytes([low])

    def field(key: int, data: bytes) -> bytes:
        return varint(key << 3 | 2) + varint(len(data)) + data

    def block(kind: bytes, content: bytes) -> bytes:
        body = varint(2 << 3) + varint(len(content)) + field(3, zlib.compress(content))
        head = field(1, kind) + varint(3 << 3) + varint(len(body))
        return struct.pack(">I", len(head)) + head + body

    steps = b"\x02" * (SIZE // 3)
    nodes = field(2, field(2, field(1, steps) + field(8, steps) + field(9, steps)))
    header = field(4, b"OsmSchema-V0.6") + field(4, b"DenseNodes")
    path.write_bytes(block(b"OSMHeader", header) + block(b"OSMData", field(1, field(1, b"")) + nodes))
    return path


def _parquet(path: Path) -> Path:
    """Write a GeoParquet file of one line, a thousand points long, and many numbers that say so."""
    import geopandas as gpd
    import numpy as np
    import shapely

    line = shapely.LineString(np.arange(2000.0).reshape(-1, 2))
    gpd.GeoDataFrame(geometry=np.array([line] * 10_000), crs="EPSG:25832").to_parquet(path)
    return path


def _peak(path: Path, limit: int) -> tuple[int, str]:
    """Read a file in this process and return the most memory that it took, and what came of it."""
    import torelli as tt

    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # forget the peak so far
    before = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")
    try:
        tt.read(path, max_bytes=limit)
        outcome = "read"
    except tt.TorelliError as error:
        outcome = f"{type(error).__name__}: {str(error)[:300]!r}"
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024 - before, outcome


def main() -> None:
    """Read the files of the command line."""
    import geopandas  # noqa: F401  (what is loaded once is not what a file takes)
    import osmium  # noqa: F401

    import torelli as tt
    import torelli._numerics.number_parser  # loads numba

    limit, *names = sys.argv[1:]
    for name in names:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            tt.read  # noqa: B018  (loads the readers)
            taken, outcome = _peak(Path(name), int(limit))
            print(taken, Path(name).name, outcome, flush=True)  # noqa: T201
            os._exit(0)
        os.waitpid(child, 0)


if __name__ == "__main__":
    main()
