"""A small valid file of every format that is read: what the fuzz tests mutate."""

from __future__ import annotations

import bz2
import gzip
import zipfile
from typing import TYPE_CHECKING

import geopandas as gpd
import osmium
from osmium.osm.mutable import Node, Way
from shapely.geometry import LineString, MultiLineString

from torelli.io.readers import READERS

if TYPE_CHECKING:
    from pathlib import Path

LINES = ["a.gpkg", "a.geojson", "a.parquet", "a.shp"]
OTHERS = [*LINES, "a.osm.pbf", "a.graphml.gz", "a.osm.bz2", "a.zip"]
TU = {
    "A": "1,2\n2,1\n2,3\n3,2\n4,5\n5,4\n",
    "graph_indicator": "1\n1\n1\n2\n2\n",
    "graph_labels": "0\n1\n",
    "edge_attributes": "1.5\n1.5\n2.5\n2.5\n3\n3\n",
}


def texts() -> dict[str, bytes]:
    """Return the example of each reader of text, by the name of its file."""
    return {
        f"a{reader.suffixes[0]}": reader.example.encode() for reader in READERS.values() if reader.example
    }


def names() -> list[str]:
    """Return the names of all files."""
    return [*texts(), *OTHERS]


def write(folder: Path) -> None:
    """Write all files to a folder."""
    for name, content in texts().items():
        (folder / name).write_bytes(content)
    (folder / "a.graphml.gz").write_bytes(gzip.compress(texts()["a.graphml"]))
    (folder / "a.osm.bz2").write_bytes(bz2.compress(texts()["a.osm"]))
    lines = [LineString([(8, 50), (8.1, 50), (8.1, 50.2)]), MultiLineString([[(8, 50), (8.1, 50.2)]])]
    frame = gpd.GeoDataFrame({"road": ["a", "b"]}, geometry=lines, crs="EPSG:4326")
    frame.to_parquet(folder / "a.parquet")
    for name in ("a.gpkg", "a.geojson", "a.shp"):
        frame.to_file(folder / name)
    with osmium.SimpleWriter(str(folder / "a.osm.pbf")) as writer:
        for node, place in enumerate([(8.0, 50.0), (8.1, 50.0), (8.1, 50.1)], 1):
            writer.add_node(Node(id=node, location=place))
        writer.add_way(Way(id=9, nodes=[1, 2, 3, 1], tags={"highway": "primary"}))
    with zipfile.ZipFile(folder / "a.zip", "w") as archive:
        for part, text in TU.items():
            archive.writestr(f"T/T_{part}.txt", text)
