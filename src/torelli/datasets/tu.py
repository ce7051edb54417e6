"""The benchmark sets of the TU site: found on this machine or downloaded, with lengths of several kinds."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np

from torelli import _memory
from torelli._errors import (
    DataNotFoundError,
    InvalidOptionError,
    quoted,
    shortened,
    unknown_option,
)
from torelli.datasets.storage import cache_folder, data_folders, download, verify
from torelli.io.files import Budget
from torelli.io.tu import TUSet, check_zip, read_tu_set

if TYPE_CHECKING:
    from sklearn.utils import Bunch

    from torelli._types import Dataset, Floats


Lengths = Literal["uniform", "attribute", "unit", "resistance"]

TU_NAMES = (
    "AIDS", "BZR", "BZR_MD", "COIL-DEL", "COX2", "COX2_MD", "DD", "DHFR", "DHFR_MD", "ENZYMES", "ER_MD",
    "FRANKENSTEIN", "IMDB-BINARY", "IMDB-MULTI", "MSRC_9", "MSRC_21", "MSRC_21C", "MUTAG", "NCI1", "NCI109",
    "PROTEINS", "REDDIT-BINARY", "REDDIT-MULTI-5K",
)  # fmt: skip
"""The 23 sets of the paper, in the order of its table."""

TU_SITE = "https://www.chrsmrrs.com/graphkerneldatasets"

_NOT_MISSPELT = {"REDDIT-MULTI-12K"}  # a set of the TU site whose name is close to one of the 23
_SIMILAR = 0.8  # difflib's measure: "MUTGA" and "PROTIENS" are found, "PROTEINS_full" and "COIL-RAG" not
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{,100}")


def load_tu(
    name: str | os.PathLike[str],
    *,
    lengths: Lengths = "uniform",
    seed: int = 0,
    return_X_y: bool = False,
    data_home: str | os.PathLike[str] | None = None,
    download_if_missing: bool = True,
    mirror: str | None = None,
    sha256: str | None = None,
    max_bytes: int | None = None,
) -> Dataset:
    """Load a benchmark set of the TU site: one of the 23 of the paper (`TU_NAMES`), or any other.

    It is looked for in this order: `name` itself, if it is the path of a zip or folder; the folder
    ``tu`` in ``TORELLI_DATA``, and in ``../shared/data`` beside the checkout or the current folder;
    the cache. Only then it is downloaded, once, to the cache. The SHA-256 of a download is recorded
    beside the file, and compared each time the file is read from there.

    Parameters
    ----------
    name
        Name of the set, such as ``"MUTAG"``, or the path of its zip or folder (a string is a path if
        it ends in ``.zip`` or contains a slash). The case of the 23 names does not matter.
    lengths
        Where edge lengths come from. ``"uniform"``: drawn from Unif(0, 1), as in the paper.
        ``"attribute"``: the set's own edge attribute, which in the ``*_MD`` sets is the distance
        between two atoms. ``"unit"``: all 1. ``"resistance"``: the effective resistance between
        the ends of the edge, which is the same for isomorphic graphs (`edge_resistances`).
    seed
        Seed of ``"uniform"``. The lengths depend on it and on the edges of the set alone, not on
        the order of the rows in the file.
    return_X_y
        Return ``(graphs, y)`` instead of a Bunch.
    data_home
        Folder to use instead of the user's cache.
    download_if_missing
        If False, a set that is not on this machine raises an error instead of being downloaded.
    mirror
        Address of a folder that holds ``NAME.zip``, to download from instead of the TU site.
    sha256
        The checksum that the zip must have.
    max_bytes
        Largest amount of memory to use for reading the set, in bytes; by default half of the free memory.

    Returns
    -------
    data
        A `sklearn.utils.Bunch` with ``graphs`` (a list of `MetricGraph`), ``y`` (the labels, as in
        the file), ``target_names`` (the distinct labels, ascending, as strings), ``name``,
        ``source`` (the path it was read from), ``lengths``, ``n_repeated_rows`` and ``DESCR``.

    Raises
    ------
    DataNotFoundError
        If the set is not found; the message lists every place and address that was tried, and says how to get
        the file by hand.
    FormatError
        If a file breaks the rules of the format (the message gives file and line), or if the checksum is
        wrong.
    InvalidOptionError
        If the name looks like a misspelling of one of the 23; with `mirror`, names are used exactly as given.
    RequestTooLargeError
        If the set would take more memory than `max_bytes`.

    Notes
    -----
    See `read_tu` for how rows become edges.

    Examples
    --------
    >>> import torelli as tt
    >>> graphs, y = tt.datasets.load_tu("MUTAG", return_X_y=True)  # doctest: +SKIP
    """
    path = _find(name, data_home)
    if path is None and mirror is None:
        name = _spelt(os.fspath(name))
        path = _find(name, data_home)
    if path is None:
        target = cache_folder(data_home) / "tu" / f"{name}.zip"
        address = f"{(mirror or TU_SITE).rstrip('/')}/{name}.zip"
        if not download_if_missing:
            raise DataNotFoundError(f"{name} is not on this machine, {_looked_at(name, data_home)}")
        try:
            path = download(address, target, check=check_zip, sha256=sha256)
        except DataNotFoundError as error:
            raise DataNotFoundError(f"{error}\n{_looked_at(name, data_home)}") from None
    elif path.is_file():
        verify(path, sha256)
    elif sha256 is not None:
        raise InvalidOptionError(f"a checksum was given, but {path} is a folder: give the zip")
    data = read_tu(path, lengths=lengths, seed=seed, max_bytes=max_bytes)
    return (data.graphs, data.y) if return_X_y else data


@_memory.refused_if_too_large("reading a TU data set", "take a smaller one, or more memory")
def read_tu(
    path: str | os.PathLike[str],
    *,
    lengths: Lengths = "unit",
    seed: int = 0,
    max_bytes: int | None = None,
) -> Bunch:
    r"""Read a data set in the TU format from its folder or zip.

    Parameters
    ----------
    path
        A folder with ``NAME_A.txt``, ``NAME_graph_indicator.txt`` and ``NAME_graph_labels.txt``, or
        a zip of them. A zip is not unpacked to disk.
    lengths, seed, max_bytes
        As for `load_tu`.

    Returns
    -------
    data
        As for `load_tu`.

    Warns
    -----
    DataWarning
        If rows are listed more than once; the message gives their number.

    Notes
    -----
    Nodes are those of ``graph_indicator``, so isolated nodes are kept. Each row of ``A`` is an entry of an
    adjacency matrix: rows (u, v) and (v, u), however often they occur, are one edge; a row (u, u) is a
    loop. ``n_repeated_rows`` counts rows that repeat an earlier one in the same direction;
    IMDB-BINARY and IMDB-MULTI list every row twice. Edges are ordered by graph, then by smaller and
    larger node.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import torelli as tt
    >>> files = {"A": "1, 2\n2, 3\n3, 1\n", "graph_indicator": "1\n1\n1\n", "graph_labels": "7\n"}
    >>> with TemporaryDirectory() as folder:
    ...     for name, text in files.items():
    ...         _ = Path(folder, f"TINY_{name}.txt").write_text(text)
    ...     data = tt.datasets.read_tu(folder)
    >>> data.graphs[0].genus, data.y.tolist()
    (1, [7])
    """
    if lengths not in get_args(Lengths):
        raise unknown_option("lengths", lengths, get_args(Lengths))
    data = read_tu_set(Path(path), Budget(Path(path), max_bytes))
    name = data.archive.name
    from sklearn.utils import Bunch

    return Bunch(
        graphs=data.graphs(_lengths(data, lengths, seed)),
        y=data.labels,
        target_names=np.unique(data.labels).astype(str),
        name=name,
        source=str(data.archive.path),
        lengths=lengths,
        n_repeated_rows=data.n_repeated,
        DESCR=data.archive.description() or f"{name}: a data set in the TU format without a README.",
    )


def _lengths(data: TUSet, lengths: Lengths, seed: int) -> Floats:
    n_edges = len(data.tail)
    if lengths == "uniform":
        # random() may be 0 and is never 1, so 1 - random() is never 0
        return 1.0 - np.random.default_rng(seed).random(n_edges)
    if lengths == "resistance":
        return _resistances(data)
    if lengths == "unit":
        return np.ones(n_edges)
    if not data.has_lengths():
        raise InvalidOptionError(
            f"lengths='attribute': {shortened(data.archive.name)} has no edge attributes; "
            "use 'uniform', 'unit' or 'resistance'"
        )
    return data.own_lengths()


def _resistances(data: TUSet) -> Floats:
    from torelli._numerics.threads import one_blas_thread
    from torelli._numerics.unit_resistances import edge_resistances

    length = np.empty(len(data.tail))
    # thousands of small solves: threads of BLAS would spend their time waiting for each other
    with one_blas_thread():
        for name, (n, part) in zip(data.names(), data.parts(), strict=True):
            length[part] = edge_resistances(data.tail[part], data.head[part], n, name=name)
    return length


def _find(name: str | os.PathLike[str], data_home: str | os.PathLike[str] | None) -> Path | None:
    """Return the zip or folder of a data set on this machine, or None."""
    text = os.fspath(name)
    if not isinstance(name, str) or text.endswith(".zip") or "/" in text or os.sep in text:
        if not Path(text).exists():
            raise DataNotFoundError(
                f"there is no TU data set at {shortened(text, 400)}: give a folder or a zip"
            )
        return Path(text)
    if not _NAME.fullmatch(text):
        raise InvalidOptionError(
            f"{quoted(text)} is not the name of a TU data set: use letters, digits, '-' and '_'"
        )
    for place in _places(text, data_home):
        if place.exists():
            return place
    return None


def _spelt(name: str) -> str:
    """Return a name in the case of the 23 known ones; one that is nearly known is an error."""
    known = {one.lower(): one for one in TU_NAMES}
    if name.lower() in known or name in _NOT_MISSPELT:
        return known.get(name.lower(), name)
    near = get_close_matches(name.lower(), known, cutoff=_SIMILAR)
    if near:
        raise InvalidOptionError(
            f"{quoted(name)} is not on this machine: did you mean "
            f"{' or '.join(repr(known[one]) for one in near)}? "
            f"A set of exactly this name is downloaded with mirror={TU_SITE!r}"
        )
    return name


def _places(name: str, data_home: str | os.PathLike[str] | None) -> list[Path]:
    folders = [folder / "tu" for folder in (*data_folders(), cache_folder(data_home))]
    return [place for folder in folders for place in (folder / f"{name}.zip", folder / name)]


def _looked_at(name: str | os.PathLike[str], data_home: str | os.PathLike[str] | None) -> str:
    places = "\n  ".join(str(place) for place in _places(os.fspath(name), data_home))
    return (
        f"looked at\n  {places}\nset TORELLI_DATA, or give the path of the zip or folder instead of the name"
    )
