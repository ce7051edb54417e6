"""Whatever is in a file, `read` gives graphs or an error of this package, never another's traceback.

Valid files are mutated at random. A short run is part of the suite; TORELLI_FUZZ_SECONDS=600 gives
each format its share of ten minutes.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
import random
import re
import time
import warnings
from typing import TYPE_CHECKING

import geopandas as gpd
import osmium
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from osmium.osm.mutable import Node, Way
from shapely.geometry import LineString, MultiLineString

import torelli as tt

if TYPE_CHECKING:
    from pathlib import Path

GRAPHML = b"""<?xml version='1.0' encoding='utf-8'?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="l" for="edge" attr.name="length"/>
<key id="o" for="edge" attr.name="osmid"/><key id="x" for="node" attr.name="x"/>
<key id="y" for="node" attr.name="y"/><key id="c" for="graph" attr.name="crs"/>
<graph edgedefault="directed"><data key="c">epsg:4326</data>
<node id="1"><data key="x">8.5</data><data key="y">50.1</data></node>
<node id="2"><data key="x">8.6</data><data key="y">50.2</data></node>
<edge source="1" target="2"><data key="l">10.5</data><data key="o">[5, 6]</data></edge>
<edge source="2" target="1"><data key="l">10.5</data><data key="o">[6, 5]</data></edge>
<edge source="1" target="1" directed="false"><data key="l">3</data></edge></graph></graphml>"""
OSM = b"""<?xml version='1.0'?><osm version="0.6"><node id="1" lat="50.0" lon="8.0"/>
<node id="2" lat="50.001" lon="8.0"/><node id="3" lat="50.001" lon="8.001"/>
<way id="10"><nd ref="1"/><nd ref="2"/><nd ref="3"/><tag k="highway" v="residential"/></way>
<way id="11"><nd ref="3"/><nd ref="1"/><tag k="highway" v="primary"/></way></osm>"""
OVERPASS = json.dumps(
    {
        "elements": [
            {"type": "node", "id": 1, "lat": 50.0, "lon": 8.0},
            {"type": "node", "id": 2, "lat": 50.001, "lon": 8.0},
            {"type": "way", "id": 9, "nodes": [1, 2], "tags": {"highway": "primary"}},
        ]
    }
).encode()
CSV = b"source,target,length,unit\na,b,1.5,m\nb,c,2.5,m\nc,a,1e1,m\n"
CELL = b'{"id": "c1", "crs": "EPSG:4326", "nodes": [[1, 8.5, 50], [2, 8.6, 51.5]], "edges": [[1, 2, 3.25]]}\n'
SWC = b"# neuron\n1 1 0 0 0 2.0 -1\n2 3 3 4 0 1.0 1\n7 3 3 4 12 1.0 2\n"
TEXTS = {
    "a.graphml": GRAPHML,
    "a.osm": OSM,
    "a.json": OVERPASS,
    "a.csv": CSV,
    "a.jsonl": CELL * 2,
    "a.swc": SWC,
}
LINES = ["a.gpkg", "a.geojson", "a.parquet", "a.shp"]
FORMATS = [*TEXTS, *LINES, "a.osm.pbf", "a.graphml.gz", "a.osm.bz2"]
MUTATIONS = ("flip", "cut", "double", "insert", "number", "drop")
NUMBERS = (
    b"nan",
    b"-1",
    b"0",
    b"1e999",
    b"99999999999999999999",
    b"",
    b"[]",
    b"null",
    b"\xff",
    b"&lt;",
    b'"',
)


@pytest.fixture(scope="module")
def valid(tmp_path_factory) -> dict[str, dict[str, bytes]]:
    """Return a valid file of each format: the name of each of its parts with the content."""
    folder = tmp_path_factory.mktemp("valid")
    for name, content in TEXTS.items():
        (folder / name).write_bytes(content)
    (folder / "a.graphml.gz").write_bytes(gzip.compress(GRAPHML))
    (folder / "a.osm.bz2").write_bytes(bz2.compress(OSM))
    lines = [LineString([(8, 50), (8.1, 50), (8.1, 50.2)]), MultiLineString([[(8, 50), (8.1, 50.2)]])]
    frame = gpd.GeoDataFrame({"road": ["a", "b"]}, geometry=lines, crs="EPSG:4326")
    frame.to_parquet(folder / "a.parquet")
    for name in ("a.gpkg", "a.geojson", "a.shp"):
        frame.to_file(folder / name)
    with osmium.SimpleWriter(str(folder / "a.osm.pbf")) as writer:
        for node, place in enumerate([(8.0, 50.0), (8.1, 50.0), (8.1, 50.1)], 1):
            writer.add_node(Node(id=node, location=place))
        writer.add_way(Way(id=9, nodes=[1, 2, 3, 1], tags={"highway": "primary"}))
    parts = {name: [name] for name in FORMATS}
    parts["a.shp"] += ["a.shx", "a.dbf", "a.prj"]
    return {name: {part: (folder / part).read_bytes() for part in parts[name]} for name in FORMATS}


def mutate(content: bytes, mutations) -> bytes:
    """Apply mutations (kind, place, value) one after another."""
    for kind, place, value in mutations:
        at = place % (len(content) + 1)
        if kind == "flip" and at < len(content):
            content = content[:at] + bytes([content[at] ^ (1 << value % 8)]) + content[at + 1 :]
        elif kind == "cut":
            content = content[:at]
        elif kind == "double":
            content = content[:at] + content[at : at + value] * 2 + content[at + value :]
        elif kind == "insert":
            content = content[:at] + bytes([value]) + content[at:]
        elif kind == "number":
            content = content[:at] + NUMBERS[value % len(NUMBERS)] + content[at + 1 + value % 4 :]
        elif kind == "drop":
            content = content[:at] + content[at + 1 + value % 16 :]
    return content


def check_survival(folder: Path, name: str, parts: dict[str, bytes], victim: int, mutations) -> None:
    """Write a mutated file and read it."""
    for i, (part, content) in enumerate(parts.items()):
        (folder / part).write_bytes(mutate(content, mutations) if i == victim % len(parts) else content)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.DataWarning)
        try:
            graphs = tt.read(folder / name, max_bytes=2**26)
        except tt.TorelliError as error:
            assert name in str(error)  # noqa: PT017  (either outcome is right)
        else:
            assert graphs
            assert all(isinstance(graph, tt.MetricGraph) for graph in graphs)


mutation_lists = st.lists(
    st.tuples(st.sampled_from(MUTATIONS), st.integers(0, 2**17), st.integers(0, 255)), min_size=1, max_size=5
)


@pytest.mark.parametrize("name", FORMATS)
def test_valid_files_are_read(valid, tmp_path, name) -> None:
    """The files that are mutated below are valid."""
    for part, content in valid[name].items():
        (tmp_path / part).write_bytes(content)
    assert tt.read(tmp_path / name)[0].n_edges


@pytest.mark.parametrize("name", FORMATS)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(victim=st.integers(0, 3), mutations=mutation_lists)
def test_mutated_files_are_read_or_refused(valid, tmp_path, name, victim, mutations) -> None:
    """Flipped, cut, doubled and replaced bytes give graphs or an error that names the file."""
    check_survival(tmp_path, name, valid[name], victim, mutations)


def in_quotes(content: bytes) -> bytes:
    """Return JSON with its numbers as strings, which may be replaced by anything."""
    return re.sub(rb"(?<=[\[ ])(\d[\d.]*)", rb'"\1"', content)


def replace_words(content: bytes, places, filler: bytes, *, everywhere: bool) -> bytes:
    """Put a filler in place of some words, and of the other places of the same word if asked."""
    words = re.findall(rb"\w+|\W+", content)
    chosen = {[at for at, word in enumerate(words) if word[:1].isalnum()][place] for place in places}
    values = {words[at] for at in chosen} if everywhere else set()
    return b"".join(filler if at in chosen or word in values else word for at, word in enumerate(words))


@pytest.mark.parametrize("name", [*TEXTS, "a.geojson"])
@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    places=st.lists(st.integers(-30, 30), min_size=1, max_size=3),
    letter=st.sampled_from("a9é\u202e"),
    size=st.sampled_from([4_000, 100_000, 1_000_000]),
    everywhere=st.booleans(),
)
def test_messages_about_long_words_are_short(valid, tmp_path, name, places, letter, size, everywhere) -> None:
    """Ids, names, numbers and attributes of a megabyte are quoted in a line, in errors and in warnings."""
    filler = (letter * size).encode()
    content = in_quotes(valid[name][name]) if "json" in name else valid[name][name]
    n_words = len(re.findall(rb"\b\w+", content))
    places = [max(-n_words, min(place, n_words - 1)) for place in places]
    (tmp_path / name).write_bytes(replace_words(content, places, filler, everywhere=everywhere))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            tt.read(tmp_path / name)
        except tt.TorelliError as error:
            assert len(str(error)) < 2_000  # noqa: PT017  (either outcome is right)
    assert all(len(str(warning.message)) < 2_000 for warning in caught)


@pytest.mark.skipif(
    "TORELLI_FUZZ_SECONDS" not in os.environ, reason="set TORELLI_FUZZ_SECONDS for a long run"
)
@pytest.mark.parametrize("name", FORMATS)
def test_mutated_files_for_long(valid, tmp_path, name) -> None:
    """The same for as long as asked, from a seed that is shown where it fails."""
    stop = time.monotonic() + float(os.environ["TORELLI_FUZZ_SECONDS"]) / len(FORMATS)
    seed = time.time_ns()
    while time.monotonic() < stop:
        seed += 1
        rng = random.Random(seed)  # noqa: S311  (not for secrets)
        mutations = [
            (rng.choice(MUTATIONS), rng.randrange(2**17), rng.randrange(256))
            for _ in range(rng.randint(1, 6))
        ]
        victim = rng.randrange(4)
        try:
            check_survival(tmp_path, name, valid[name], victim, mutations)
        except Exception as error:
            raise AssertionError(f"{name}: part {victim}, mutations {mutations}") from error
