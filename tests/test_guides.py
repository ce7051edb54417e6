"""The code of README and of the guides runs as it is shown, from top to bottom of each page."""

import gzip
import json
import re
import shlex
from pathlib import Path

import networkx as nx
import pytest

import torelli as tt
from torelli.cli import main
from torelli.datasets.storage import shared_data
from towns import grid_city, osmnx_graph

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [page for page in [ROOT / "README.md", *sorted(DOCS.glob("*.md"))] if page.exists()]
WITH_COMMANDS = {"ten_minutes"}  # the commands of other pages are about files of the reader
NEEDS = {"from_grakel": "grakel", "from_r_metricgraph": "geopandas", "formats": "osmium", "scale": "zarr"}
CLUSTERS = ("dask_jobqueue", "dask_kubernetes")  # of SLURM and Kubernetes, which a test does not have

pytestmark = pytest.mark.skipif(not DOCS.is_dir(), reason="docs is not beside the tests")


def blocks(page):
    """Return the kind and the text of each code block of a page."""
    return re.findall(r"^```(python|console)\n(.*?)^```$", page.read_text("utf-8"), re.MULTILINE | re.DOTALL)


RUN = [page for page in PAGES if any(kind == "python" for kind, _ in blocks(page))]


def readers_own(page, folder):
    """Return what a page takes for granted, graphs and classes of the reader, and write their files."""
    data = tt.datasets.street_patterns(4, radius=200.0, seed=0)
    names = {"graphs": data.graphs, "graph": data.graphs[0], "y": data.y, "cities": ["A", "B"] * 8}
    if page.stem == "formats":
        (folder / "cities").mkdir()
        nx.write_graphml(data.graphs[0].to_networkx(), folder / "cities" / "one.graphml.gz")
        rows = [
            {"edges": [[0, 1, 2.5], [1, 0, 1.5]], "label": "ring"},
            {"edges": [[0, 1, 1.0]], "label": "tree"},
        ]
        (folder / "cells.jsonl.gz").write_bytes(gzip.compress("\n".join(map(json.dumps, rows)).encode()))
        write_pbf(folder / "town.osm.pbf")
        vessels = nx.Graph([(0, 1, {"length": 2.0, "radius": 0.5}), (1, 2, {"length": 1.0, "radius": 0.4})])
        nx.write_graphml(vessels, folder / "vessels.graphml.gz")
        names["nx_graph"] = nx.Graph([(1, 2, {"km": 1.5})])
    if page.stem == "from_r_metricgraph":
        import geopandas
        from shapely import LineString

        lines = [LineString([(0, 5), (10, 5)]), LineString([(5, 0), (5, 10)])]
        geopandas.GeoDataFrame(geometry=lines, crs="EPSG:32631").to_file(folder / "network.gpkg")
    if page.stem == "scale":
        tt.write_features(data.graphs, folder / "features.zarr", verbose=False)
    if page.stem == "datasets":
        for city in ("here", "there"):
            nx.write_graphml(osmnx_graph(grid_city(41, name=city)), folder / f"{city}.graphml")
    return names


def write_pbf(path):
    """Write three streets of a town in OpenStreetMap's format."""
    osm = pytest.importorskip("osmium").osm
    with pytest.importorskip("osmium").SimpleWriter(str(path)) as writer:
        for i, place in enumerate([(8.0, 51.0), (8.001, 51.0), (8.001, 51.001)], 1):
            writer.add_node(osm.mutable.Node(id=i, location=place))
        for i, ends in enumerate([(1, 2), (2, 3), (3, 1)], 1):
            writer.add_way(osm.mutable.Way(id=i, nodes=ends, tags={"highway": "residential"}))


@pytest.mark.filterwarnings("ignore::torelli.DataWarning")  # pages say what is converted
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch, capsys, request):
    """Python blocks share one namespace, and the commands of torelli between them end well."""
    if page.stem in NEEDS:
        pytest.importorskip(NEEDS[page.stem])
    if page.stem == "datasets":
        request.getfixturevalue("tu")
        monkeypatch.setenv("TORELLI_DATA", str(shared_data()))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    names = readers_own(page, tmp_path)
    try:
        for kind, text in blocks(page):
            if kind == "python" and not any(cluster in text for cluster in CLUSTERS):
                exec(compile(text, page.name, "exec"), names)  # noqa: S102 (our own pages)
            elif kind == "console" and page.stem in WITH_COMMANDS:
                run_commands(text, capsys)
    finally:
        tt.distance_cache.share(None)


def run_commands(text, capsys):
    """Run the commands of torelli in a console block."""
    for line in re.findall(r"^\$ (.*)$", text, re.MULTILINE):
        program, *arguments = shlex.split(line, comments=True)
        if program == "torelli":
            assert main(arguments) == 0, f"{line}\n{capsys.readouterr().err}"
