"""Labelled collections of real networks: water, telecommunication, ant trails and neurons.

Each lies in a folder of its name: in ``TORELLI_DATA``, in ``../shared/data``, or in the user's cache, to
which it is downloaded from a public repository at a fixed commit, with checksums.
"""

from __future__ import annotations

import csv
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NamedTuple, get_args

import numpy as np
from sklearn.utils import Bunch

from torelli._errors import (
    DataNotFoundError,
    DataWarning,
    FormatError,
    listed,
    quoted,
    unknown_option,
)
from torelli._numerics.threads import ProgressLine
from torelli._units import in_unit
from torelli.datasets.public_files import RAW, download_collection
from torelli.datasets.storage import cache_folder, data_folders, download, unpacked, verify
from torelli.io import as_metric_graph
from torelli.io.read import read, read_records

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from torelli._types import Dataset
    from torelli.graph import MetricGraph

ZooLengths = Literal["distance", "unit"]
_NO_LABEL = ("", "NA")

_WATER_VERSIONS = (
    ("19 Pipe System.inp", "Modified 19 Pipe System.inp"),
    ("BIN.inp", "Balerma.inp"),
    ("CTOWN.INP", "d-town.inp"),
    ("Jilin including water quality.inp", "Zhi Jiang.inp"),
    ("MOD.inp", "modena.inp"),
    ("NYT.inp", "new_york.inp"),
    ("TRN.inp", "fourteenpipes.inp"),
    ("ky8.inp", "ky8_v.inp"),
)
"""Files that hold versions of one network: they share most places of nodes, or all lengths of pipes."""


class _Source(NamedTuple):
    """A file of fixed content in a public repository."""

    url: str
    sha256: str


_ANTS = f"{RAW}/sandorpiross/Wood_Ant_Sim/c7edd5eddc7c48c35e91be25b5c15e4881802116/Input/Empirical_data"
_ZOO = f"{RAW}/mroughan/InternetTopologyZoo/a725bbc4763bf1d0eaea64089ba00c2fe9427fe3"
_SOURCES = {
    "edges.csv": _Source(
        f"{_ANTS}/empirical_edges.csv", "51a8b7110de064ae5f1df8c1f941e61a0927e616393b4f5c9ca98de4cf3e94d0"
    ),
    "graphml.tar.gz": _Source(
        f"{_ZOO}/graphml.tar.gz", "7fba0617df71911a30df116478d1fc75758963c7b2569dd81818f47cf5b814c1"
    ),
}


def load_water(
    label: str = "hoagland",
    *,
    unlabelled: Literal["drop", "keep"] = "drop",
    device_length: float | None = 0.0,
    data_home: str | os.PathLike[str] | None = None,
    return_X_y: bool = False,
) -> Dataset:
    """Load drinking-water networks, with the pipes as edges and lengths in metres.

    Parameters
    ----------
    label
        Column of the index to use as the class: ``"hoagland"`` (gridded, looped, branched) or
        ``"hwang_lansey"``.
    unlabelled
        Whether to ``"drop"`` networks without a label or to ``"keep"`` them, with an empty text in ``y``.
    device_length
        Length of pumps and valves in the unit of the file, as for `torelli.read`. By default they are points;
        None leaves them out.
    data_home
        Folder of the user's cache.
    return_X_y
        Return ``(graphs, y)`` instead of a Bunch.

    Returns
    -------
    data
        A `sklearn.utils.Bunch` with ``graphs``, ``y``, ``target_names``, ``names``, ``index`` (what is known
        about each graph, as a dictionary), ``notes`` (the reader's warnings about each graph), ``left_out``
        (names of the networks that were dropped), ``groups``, ``group_names``, ``label``, ``name`` and
        ``DESCR``.

    Notes
    -----
    ``groups`` numbers the networks: several files are versions of one network, and folds must not divide
    them.

    References
    ----------
    Water Benchmark Hub, https://github.com/WaterFutures/WaterBenchmarkHub (MIT).

    Examples
    --------
    >>> import torelli as tt
    >>> data = tt.datasets.load_water()  # doctest: +SKIP
    >>> data.graphs, data.y, data.groups  # doctest: +SKIP
    """
    folder = _find("water", "inp.zip", data_home).parent
    index = _index(folder / "index.csv", "file")
    with unpacked(folder / "inp.zip", ".inp") as files:
        graphs, notes = _read_all(
            _paths(index, "file", files, folder), lambda path: read(path, device_length=device_length)[0]
        )
    first = {name: versions[0] for versions in _WATER_VERSIONS for name in versions}
    data = _Collection(
        name="water",
        graphs=[in_unit(graph, "m") for graph in graphs],
        index=index,
        names=[row["file"].rpartition(".")[0] for row in index],
        groups=[first.get(row["file"], row["file"]) for row in index],
        description="Drinking-water networks of the Water Benchmark Hub (MIT). Lengths of pipes in metres.",
        notes=notes,
    )
    return data.labelled_by(label, unlabelled, return_X_y=return_X_y)


def load_zoo(
    label: str = "Type",
    *,
    lengths: ZooLengths = "distance",
    unlabelled: Literal["drop", "keep"] = "drop",
    data_home: str | os.PathLike[str] | None = None,
    return_X_y: bool = False,
) -> Dataset:
    """Load the Internet Topology Zoo: backbones of telecommunication networks.

    Parameters
    ----------
    label
        Graph attribute to use as the class: ``"Type"`` (REN research and education, COM commercial),
        ``"GeoExtent"``, or another attribute in the files.
    lengths
        ``"distance"``: great-circle distances in metres between the ends of a link, for the networks whose
        nodes all have a longitude and latitude; the others are left out. ``"unit"``: all networks, with every
        link of length 1.
    unlabelled, data_home, return_X_y
        As for `load_water`.

    Returns
    -------
    data
        As for `load_water`. ``groups`` numbers the operators: the zoo has several years of some networks.

    References
    ----------
    S. Knight, H. X. Nguyen, N. Falkner, R. Bowden and M. Roughan, The Internet Topology Zoo, IEEE Journal on
    Selected Areas in Communications 29 (2011) 1765-1775. CC BY 4.0.

    Examples
    --------
    >>> import torelli as tt
    >>> data = tt.datasets.load_zoo()  # doctest: +SKIP
    >>> data.graphs, data.y, data.groups  # doctest: +SKIP
    """
    import networkx as nx

    if lengths not in get_args(ZooLengths):
        raise unknown_option("lengths", lengths, get_args(ZooLengths))
    archive = _find("zoo", "graphml.zip", data_home, "graphml.tar.gz")
    index: list[dict[str, str]] = []
    paths: list[Path] = []
    unplaced: list[str] = []

    def with_distances(path: Path) -> MetricGraph:
        return read(path, zero="contract")[0]

    def with_unit_lengths(path: Path) -> MetricGraph:
        graph = nx.read_graphml(path)
        for *_, link in graph.edges(data=True):
            link["length"] = 1.0
        return as_metric_graph(graph).replace(name=path.stem, source=path.name)

    with unpacked(archive, ".graphml") as files:
        for name, path in files.items():
            _refuse_entities(path)
            graph = nx.read_graphml(path)
            has_places = all({"Longitude", "Latitude"} <= set(node) for _, node in graph.nodes(data=True))
            if lengths == "distance" and not has_places:
                unplaced.append(path.stem)
                continue
            index.append({"file": name, **{key: str(value) for key, value in graph.graph.items()}})
            paths.append(path)
        graphs, notes = _read_all(paths, with_distances if lengths == "distance" else with_unit_lengths)
    lengths_text = (
        f"Lengths are great-circle distances in metres. {len(unplaced)} networks with nodes of unknown place "
        "are left out; lengths='unit' has them."
        if lengths == "distance"
        else "Every link has length 1."
    )
    data = _Collection(
        name="zoo",
        graphs=graphs,
        index=index,
        names=[path.stem for path in paths],
        groups=[row.get("Network", row["file"]).strip().casefold() for row in index],
        description=f"The Internet Topology Zoo (CC BY 4.0, Knight et al. 2011). {lengths_text}",
        notes=notes,
        left_out=unplaced,
    )
    return data.labelled_by(label, unlabelled, return_X_y=return_X_y)


def load_ants(
    label: str = "treatment",
    *,
    unlabelled: Literal["drop", "keep"] = "drop",
    data_home: str | os.PathLike[str] | None = None,
    return_X_y: bool = False,
) -> Dataset:
    """Load trails of wood ants between nests and trees, with lengths in metres.

    Parameters
    ----------
    label
        Column to use as the class: ``"treatment"`` (control, exclusion), or another column with a single
        value in each network.
    unlabelled, data_home, return_X_y
        As for `load_water`.

    Returns
    -------
    data
        As for `load_water`. ``groups`` numbers the nine colonies, each of which was mapped in several
        years: folds must not divide a colony.

    References
    ----------
    Wood_Ant_Sim, https://github.com/sandorpiross/Wood_Ant_Sim (MIT).

    Examples
    --------
    >>> import torelli as tt
    >>> data = tt.datasets.load_ants()  # doctest: +SKIP
    >>> data.graphs, data.y, data.groups  # doctest: +SKIP
    """
    path = _find("ants", "edges.csv", data_home)
    records = read_records(
        path, source="from_ID", target="to_ID", length="distance", graph="network_ID", unit="m"
    )
    data = _Collection(
        name="ants",
        graphs=[record.graph for record in records],
        index=[dict(record.fields) for record in records],
        names=[str(record.graph.name) for record in records],
        groups=[record.fields["colony"] for record in records],
        description="Trails of wood ants between nests and trees, in metres (Wood_Ant_Sim, MIT).",
    )
    return data.labelled_by(label, unlabelled, return_X_y=return_X_y)


def load_neurons(
    label: str = "tag__dendrite_type",
    *,
    unlabelled: Literal["drop", "keep"] = "drop",
    data_home: str | os.PathLike[str] | None = None,
    return_X_y: bool = False,
) -> Dataset:
    """Load mouse neurons, which are trees (genus 0), with lengths in micrometres.

    Parameters
    ----------
    label
        Column of the index to use as the class: ``"tag__dendrite_type"`` (spiny, aspiny, sparsely spiny),
        ``"structure__layer"``, ``"line_name"``, or another one.
    unlabelled, data_home, return_X_y
        As for `load_water`; the label ``NA`` counts as missing.

    Returns
    -------
    data
        As for `load_water`, with ``groups`` None: nothing says which neurons belong together.

    References
    ----------
    Reconstructions of the Allen Institute, from https://github.com/CamaraLab/CAJAL (MIT).

    Examples
    --------
    >>> import torelli as tt
    >>> data = tt.datasets.load_neurons()  # doctest: +SKIP
    >>> data.graphs, data.y, data.groups  # doctest: +SKIP
    """
    folder = _find("neurons", "swc.zip", data_home).parent
    index = _index(folder / "index.csv", "specimen__id")
    with unpacked(folder / "swc.zip", ".swc") as files:
        paths = _paths([{"file": f"{row['specimen__id']}.swc"} for row in index], "file", files, folder)
        graphs, notes = _read_all(paths, lambda path: read(path, unit="um")[0])
    data = _Collection(
        name="neurons",
        graphs=graphs,
        index=index,
        names=[row["specimen__id"] for row in index],
        groups=None,
        description="Mouse neurons of the Allen Institute, from CamaraLab/CAJAL (MIT), in micrometres.",
        notes=notes,
    )
    return data.labelled_by(label, unlabelled, return_X_y=return_X_y)


LABELLED: dict[str, Callable[..., Dataset]] = {
    "water": load_water,
    "zoo": load_zoo,
    "ants": load_ants,
    "neurons": load_neurons,
}
"""The labelled collections by name."""


@dataclass(frozen=True)
class _Collection:
    """All networks of a collection, before a label is chosen."""

    name: str
    graphs: list[MetricGraph]
    index: list[dict[str, str]]
    names: list[str]
    groups: list[str] | None
    description: str
    notes: Sequence[str] | None = None
    left_out: Sequence[str] = ()

    def labelled_by(self, label: str, unlabelled: str, *, return_X_y: bool) -> Dataset:
        """Return the networks with a column as their class."""
        if unlabelled not in {"drop", "keep"}:
            raise unknown_option("unlabelled", unlabelled, ["drop", "keep"])
        known = list(dict.fromkeys(key for row in self.index for key in row))
        if label not in known:
            raise unknown_option("label", label, known)
        y = np.array([row.get(label, "") for row in self.index])
        has_label = ~np.isin(y, _NO_LABEL)
        y[~has_label] = ""
        kept = [i for i in range(len(y)) if has_label[i] or unlabelled == "keep"]
        missing = [name for name, has in zip(self.names, has_label.tolist(), strict=True) if not has]
        counts = ", ".join(
            f"{name} {count}"
            for name, count in zip(*np.unique(y[has_label], return_counts=True), strict=True)
        )
        summary = f"{len(kept)} networks by {quoted(label)}: {counts}."
        if missing:
            done = "left out" if unlabelled == "drop" else "kept, with an empty label"
            summary += f" {len(missing)} without this label are {done}."
        notes = [(self.notes or [""] * len(y))[i] for i in kept]
        if any(notes):
            summary += f" The reader has notes on {sum(map(bool, notes))} of them, in `notes`."
        group_names, groups = None, None
        if self.groups is not None:
            group_names, groups = np.unique([self.groups[i] for i in kept], return_inverse=True)
        data = Bunch(
            graphs=[self.graphs[i] for i in kept],
            y=y[kept],
            target_names=np.unique(y[has_label]),
            groups=groups,
            group_names=group_names,
            names=[self.names[i] for i in kept],
            index=[self.index[i] for i in kept],
            notes=notes,
            left_out=[*self.left_out, *(missing if unlabelled == "drop" else [])],
            label=label,
            name=self.name,
            DESCR=f"{self.description} {summary}",
        )
        return (data.graphs, data.y) if return_X_y else data


def _find(
    name: str, file: str, data_home: str | os.PathLike[str] | None, downloaded: str | None = None
) -> Path:
    """Return a file of a collection, on this machine or downloaded to the cache; it is checked there."""
    cache = cache_folder(data_home) / name
    places = [folder / name / file for folder in data_folders()]
    places += [cache / one for one in dict.fromkeys([file, downloaded or file])]
    for path in places:
        if path.exists():
            verify(path)
            return path
    source = _SOURCES.get(downloaded or file)
    if source is None:
        return download_collection(name, cache)
    return download(source.url, cache / (downloaded or file), check=lambda _: None, sha256=source.sha256)


def _index(path: Path, column: str) -> list[dict[str, str]]:
    """Return the rows of an index, which must have a column."""
    if not path.is_file():
        raise DataNotFoundError(
            f"{path} was not found: it has a line for each network, with a column {column!r} and its labels"
        )
    with path.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    if not rows or not all(row.get(column) for row in rows):
        raise FormatError(f"{path}: it needs a column {column!r} with a value in every row")
    return rows


def _paths(
    index: Sequence[Mapping[str, str]], column: str, files: Mapping[str, Path], folder: Path
) -> list[Path]:
    """Return the file of each row of an index."""
    missing = [row[column] for row in index if row[column] not in files]
    if missing:
        raise FormatError(
            f"{folder}: {len(missing):,} networks of index.csv have no file ({listed(missing)}); "
            "get the collection again"
        )
    return [files[row[column]] for row in index]


def _read_all(
    paths: Sequence[Path], read_one: Callable[[Path], MetricGraph]
) -> tuple[list[MetricGraph], list[str]]:
    """Return the graph of each file, and what its reader warned of, empty for most."""
    show = ProgressLine("reading networks")
    graphs, notes = [], []
    for done, path in enumerate(paths, 1):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", DataWarning)
            graphs.append(read_one(path))
        notes.append("; ".join(str(one.message) for one in caught))
        show(done / len(paths))
    return graphs, notes


def _refuse_entities(path: Path) -> None:
    """Raise an error for XML with a DOCTYPE, whose entities networkx would expand."""
    if b"<!DOCTYPE" in path.read_bytes():
        raise FormatError(f"{path.name}: the XML has a DOCTYPE, which is never read; remove it")
