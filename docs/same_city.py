"""One city by three roads: raw OpenStreetMap, OSMnx, and OSMnx simplified, give one matrix.

Run with ``python docs/same_city.py`` where the shared data and ``torelli[osm]`` are installed.
"""

from __future__ import annotations

import gzip
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import osmnx as ox

import torelli as tt
from torelli.datasets.storage import shared_data


def main() -> int:
    """Print a Markdown table."""
    file = shared_data("osm", "monaco.osm.gz")
    with tempfile.TemporaryDirectory() as folder:
        plain = Path(folder) / "monaco.osm"
        plain.write_bytes(gzip.decompress(file.read_bytes()))
        raw = ox.graph_from_xml(plain, simplify=False, retain_all=True)
    graphs = {
        "raw file, read by `torelli.read`": tt.read(file, network_type=None)[0],
        "OSMnx": tt.as_metric_graph(raw),
        "OSMnx, simplified": tt.as_metric_graph(ox.simplification.simplify_graph(raw, remove_rings=False)),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.NonGenericWarning)
        for model in ("canonical", "literal"):
            matrices = tt.torelli_matrices(list(graphs.values()), model)
            print(f"\n| Monaco, {model} model | nodes | edges | Q | relative difference |")
            print("|---|---|---|---|---|")
            for (name, graph), Q in zip(graphs.items(), matrices, strict=True):
                difference = np.linalg.norm(Q - matrices[0]) / np.linalg.norm(matrices[0])
                size = f"{len(Q):,} × {len(Q):,}"
                print(f"| {name} | {graph.n_nodes:,} | {graph.n_edges:,} | {size} | {difference:.1e} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
